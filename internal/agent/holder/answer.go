// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/mssql/credentials"
)

// Pattern is the path under which a Holder answers the sidecars of other servers.
const Pattern = "/election/"

// What a sidecar asks another one, after the group's name.
const (
	pathFence  = "fence"
	pathReport = "report"
	pathWake   = "wake"
	pathHello  = "hello"

	pathEndpoint = "endpoint"
)

// headerPromised is the term because of which a sidecar refuses.
const headerPromised = "Geosql-Promised-Term"

// requestBytes bounds a request's body.
const requestBytes = 64 << 10

// ServeHTTP answers POST /election/<group>/fence, GET /election/<group>/report, POST /election/<group>/wake, GET
// /election/<group>/hello and POST /election/<group>/endpoint to sidecars of servers of this namespace that show their
// server's certificate.
func (h *Holder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	group, what, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, Pattern), "/")
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		http.Error(w, "a server's certificate is needed, signed by the CA of this server's ca.crt", http.StatusUnauthorized)
		return
	}
	if leaf := r.TLS.VerifiedChains[0][0]; !credentials.InNamespace(leaf, h.options.Target.Namespace) {
		http.Error(
			w,
			fmt.Sprintf(
				"servers of namespace %s are answered alone, and the certificate is for %s",
				h.options.Target.Namespace,
				strings.Join(leaf.DNSNames, ", "),
			),
			http.StatusForbidden,
		)
		return
	}
	h.mu.Lock()
	runner := h.runners[group]
	h.mu.Unlock()
	if runner == nil {
		http.Error(w, "this server has no orders for the group", http.StatusNotFound)
		return
	}
	if what == pathReport || what == pathWake {
		if err := h.partner(r, group, runner); err != nil {
			h.answer(w, func() (ballot.Report, error) { return ballot.Report{}, err })
			return
		}
	}
	switch {
	case what == pathFence && r.Method == http.MethodPost:
		h.serveFence(w, r, group, runner)
	case what == pathReport && r.Method == http.MethodGet:
		h.answer(w, func() (ballot.Report, error) {
			return runner.ask(
				r.Context(),
				func(ctx context.Context, k *keeper.Keeper) (ballot.Report, error) { return k.Report(ctx) },
			)
		})
	case what == pathWake && r.Method == http.MethodPost:
		runner.wakeUp()
		w.WriteHeader(http.StatusNoContent)
	case what == pathEndpoint && r.Method == http.MethodPost:
		h.serveEndpoint(w, r, group, runner)
	case what == pathHello && r.Method == http.MethodGet:
		w.WriteHeader(http.StatusNoContent)
	default:
		http.Error(w, "unknown request", http.StatusNotFound)
	}
}

// serveFence fences this server's replica of a group for a candidate that is who it says, and a replica of that group.
// A body that names another group than the path is refused: what is asked about and what is fenced must be the same.
func (h *Holder) serveFence(w http.ResponseWriter, r *http.Request, group string, runner *runner) {
	var request ballot.FenceRequest
	if err := json.NewDecoder(io.LimitReader(r.Body, requestBytes)).Decode(&request); err != nil {
		http.Error(w, "the request is no JSON of the known form", http.StatusBadRequest)
		return
	}
	if request.Group != group {
		http.Error(
			w,
			fmt.Sprintf("the request is about group %q, and its path about group %q", request.Group, group),
			http.StatusBadRequest,
		)
		return
	}
	leaf := r.TLS.VerifiedChains[0][0]
	if err := leaf.VerifyHostname(request.Candidate.Server + "." + h.options.Target.Namespace + ".svc"); err != nil {
		http.Error(
			w,
			fmt.Sprintf(
				"the certificate is not that of %s in namespace %s",
				request.Candidate.Server,
				h.options.Target.Namespace,
			),
			http.StatusForbidden,
		)
		return
	}
	h.answer(w, func() (ballot.Report, error) {
		return runner.ask(r.Context(), func(ctx context.Context, k *keeper.Keeper) (ballot.Report, error) {
			seen, err := h.engine.Inspect(ctx, group)
			if err != nil {
				return ballot.Report{}, err
			}
			if !slices.ContainsFunc(
				seen.Replicas,
				func(p ballot.Replica) bool { return strings.EqualFold(p.Server, request.Candidate.Server) },
			) {
				return ballot.Report{}, fmt.Errorf(
					"%s is no replica of group %s: %w",
					request.Candidate.Server,
					group,
					errNoReplica,
				)
			}
			return k.Fence(ctx, request)
		})
	})
}

// serveEndpoint restarts the endpoint of a primary for another replica of the group.
func (h *Holder) serveEndpoint(w http.ResponseWriter, r *http.Request, group string, runner *runner) {
	leaf := r.TLS.VerifiedChains[0][0]
	h.answer(w, func() (ballot.Report, error) {
		return runner.ask(r.Context(), func(ctx context.Context, k *keeper.Keeper) (ballot.Report, error) {
			seen, err := h.engine.Inspect(ctx, group)
			if err != nil {
				return ballot.Report{}, err
			}
			asks := slices.IndexFunc(seen.Replicas, func(p ballot.Replica) bool { return h.shows(leaf, p.Server) })
			if asks < 0 {
				return ballot.Report{}, noReplica(group)
			}
			return ballot.Report{}, k.RestartEndpoint(ctx, feedsOthers(seen, seen.Replicas[asks].Server))
		})
	})
}

// partner is an error unless whoever asks is another replica of the group, as far as this agent has seen, or its engine
// says, which is asked when it has seen none.
func (h *Holder) partner(r *http.Request, group string, runner *runner) error {
	leaf := r.TLS.VerifiedChains[0][0]
	partners := runner.met()
	if len(partners) == 0 {
		_, err := runner.ask(r.Context(), func(ctx context.Context, _ *keeper.Keeper) (ballot.Report, error) {
			seen, err := h.engine.Inspect(ctx, group)
			for _, p := range seen.Replicas {
				partners = append(partners, p.Server)
			}
			return ballot.Report{}, err
		})
		if err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(partners, func(server string) bool { return h.shows(leaf, server) }) {
		return noReplica(group)
	}
	return nil
}

// shows tells whether a certificate is that of a server of this namespace.
func (h *Holder) shows(leaf *x509.Certificate, server string) bool {
	return leaf.VerifyHostname(server+"."+h.options.Target.Namespace+".svc") == nil
}

func noReplica(group string) error {
	return fmt.Errorf("the certificate is that of no replica of group %s: %w", group, errNoReplica)
}

var (
	// errNoReplica means that a server that is no replica of the group asks.
	errNoReplica = errors.New("not a replica")
	// errNoEngine means that no engine runs that could be asked.
	errNoEngine = errors.New("no engine runs")
)

func (h *Holder) answer(w http.ResponseWriter, get func() (ballot.Report, error)) {
	report, err := get()
	switch {
	case errors.Is(err, ballot.ErrPromised):
		w.Header().Set(headerPromised, strconv.FormatInt(ballot.PromisedTerm(err), 10))
		http.Error(w, err.Error(), http.StatusConflict)
	case errors.Is(err, errNoReplica):
		http.Error(w, err.Error(), http.StatusForbidden)
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(report); err != nil {
			h.options.Log.Warn("answer another agent", "error", err)
		}
	}
}
