// Package ledger is a sample that breaks the rules.
package ledger

import (
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
)

var _ = fleet.X

func bad(c chan int) time.Time {
	go slog.Info(os.Args[0])
	_ = ecs.Client{}
	return time.Now()
}
