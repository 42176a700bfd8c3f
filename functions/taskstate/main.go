// Command taskstate applies task state changes from its queue to the ledger.
package main

import (
	"github.com/bulkhead-ecs/bulkhead/functions/internal/boot"
)

func main() { boot.Run(boot.StartIngest) }
