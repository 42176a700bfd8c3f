package fleet

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// each calls f for 0..n-1, at most limit at once. One at a time needs no goroutine,
// which is most of what a small batch would cost. What f finds it writes down itself:
// one element's failure does not stop the others.
func each(ctx context.Context, n, limit int, f func(ctx context.Context, i int)) {
	if n <= 1 || limit <= 1 {
		for i := range n {
			f(ctx, i)
		}
		return
	}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	for i := range n {
		group.Go(func() error {
			f(gctx, i)
			return nil
		})
	}
	_ = group.Wait()
}
