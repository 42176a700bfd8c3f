// Command taskstate applies task state changes from its queue to the ledger.
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
