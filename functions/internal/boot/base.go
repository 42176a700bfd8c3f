package boot

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/bulkhead-ecs/bulkhead/internal/dynamo"
)

// Base is what every function stands on.
type Base struct {
	Config
	AWS   aws.Config
	Store *dynamo.Store // the ledger's table
	Log   *slog.Logger  // one JSON object a line, as the log group keeps it
}

// Run starts a function on its base, and ends the process with one sentence where that
// is not possible. It does not return while the function serves.
func Run(start func(Base) error) {
	b, err := base(context.Background())
	if err == nil {
		err = start(b)
	}
	if err != nil {
		_, _ = os.Stderr.WriteString("bulkhead cannot start: " + err.Error() + "\n")
		os.Exit(1)
	}
}

func base(ctx context.Context) (Base, error) {
	c, err := Load()
	if err != nil {
		return Base{}, err
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return Base{}, fmt.Errorf("AWS configuration: %w", err)
	}
	return Base{Config: c, AWS: cfg,
		Store: dynamo.Open(cfg, dynamo.Options{Table: c.Table, Endpoint: c.Endpoint}),
		Log:   slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: c.LogLevel})),
	}, nil
}
