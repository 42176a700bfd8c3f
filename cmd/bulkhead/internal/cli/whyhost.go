package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

// whyHost prints why a host is as it is, and what is or is not done about it.
func (g *globals) whyHost(ctx context.Context, w io.Writer, host, format string) error {
	var d httpapi.WhyDoc
	if err := g.read(ctx, "/hosts/"+url.PathEscape(host)+"/why", nil, &d); err != nil {
		return err
	}
	if format == "json" {
		return printJSON(w, d)
	}
	takes := "takes no new tasks"
	if d.Health.AcceptsTasks {
		takes = "takes new tasks"
	}
	fmt.Fprintf(w, "%s is %s and %s; remedies are in mode %s\n", hostName(d.Health.EC2InstanceID, d.Health.ContainerInstanceARN), clean(d.Health.Level), takes, clean(dash(d.Mode)))
	if d.Paused != nil {
		fmt.Fprintf(w, "all remedies are paused by %s: %s\n", clean(lastPart(d.Paused.By)), clean(d.Paused.Reason))
	}
	fmt.Fprintln(w)
	for _, line := range d.Why {
		fmt.Fprintf(w, "  %s\n", strings.ReplaceAll(wrap(shortARNs(line), 94), "\n", "\n    "))
	}
	if len(d.Cases) > 0 {
		fmt.Fprintf(w, "\nTry: bulkhead case %s\n", clean(d.Cases[0].ID))
	}
	return nil
}
