// Command hoststate applies container instance, health, EC2, Spot, Auto Scaling and AWS Health events from its queue to the ledger.
package main

import (
	"github.com/bulkhead-ecs/bulkhead/functions/internal/boot"
)

func main() { boot.Run(boot.StartIngest) }
