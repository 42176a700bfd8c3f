// Command hoststate applies container instance, health, EC2, Spot, Auto Scaling and AWS Health events from its queue to the ledger.
package main

import (
	"context"

	"github.com/bulkhead-ecs/bulkhead/functions/internal/boot"
)

func main() {
	if err := boot.StartIngest(context.Background()); err != nil {
		boot.Fail(err)
	}
}
