package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/webui"
)

func newUI(g *globals) *cobra.Command {
	var port int
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Serve the page here, and sign what it asks of a deployed Bulkhead",
		Long: "Serve the page on loopback. The browser has no AWS credentials and needs none: what the page asks is signed here\n" +
			"with yours and sent to the endpoint. Only reading is passed on.",
		Example: "  bulkhead ui --endpoint https://abc.execute-api.us-east-1.amazonaws.com",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if port < 0 || port > 65535 {
				return useError("--port %d: give 1 to 65535, or 0 for a free one", port)
			}
			c, err := g.client(cmd.Context())
			if err != nil {
				return err
			}
			return c.serveUI(cmd, port)
		},
	}
	cmd.Flags().IntVar(&port, "port", 8781, "port on 127.0.0.1; 0 takes a free one")
	return cmd
}

// serveUI serves the page until the command is stopped.
func (c *client) serveUI(cmd *cobra.Command, port int) error {
	target, err := url.Parse(c.base)
	if err != nil {
		return err
	}
	ln, err := new(net.ListenConfig).Listen(cmd.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return useError("port %d is taken: give another --port, or --port 0 for a free one", port)
	}
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: c.page(target, ln.Addr().String()), ReadHeaderTimeout: 5 * time.Second}
	fmt.Fprintf(cmd.OutOrStdout(), "http://%s shows %s. Ctrl-C stops it.\n", ln.Addr(), c.base)
	stop := context.AfterFunc(cmd.Context(), func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), 2*time.Second)
		defer cancel()
		_ = srv.Shutdown(end)
	})
	defer stop()
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// page is the page, and behind it the signed way to the API. A request that names
// another host than the one listened on is not taken: a page elsewhere could have
// made its name point here, and would read with the caller's rights.
func (c *client) page(target *url.URL, own string) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.Out.Host = target.Host
			p.Out.Header = http.Header{"Accept": {"application/json"}, "If-None-Match": p.In.Header["If-None-Match"]}
			p.Out.Body, p.Out.ContentLength = http.NoBody, 0
		},
		Transport: signing{c},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, clean(c.unreachable(err).Error()), http.StatusBadGateway)
		},
	}
	inner := webui.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "only reading is passed on", http.StatusMethodNotAllowed)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	_, port, _ := net.SplitHostPort(own)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != own && r.Host != "localhost:"+port {
			http.Error(w, "this page is served to this machine only", http.StatusForbidden)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// signing signs each request with the caller's credentials.
type signing struct{ c *client }

// RoundTrip implements http.RoundTripper.
func (s signing) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := s.c.sign(r.Context(), r); err != nil {
		return nil, err
	}
	return http.DefaultTransport.RoundTrip(r)
}
