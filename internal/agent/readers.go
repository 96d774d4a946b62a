// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"geosql.dev/operator/internal/agent/durable"
	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/mssql/credentials"
)

// Source tells the data of a Secret.
type Source interface {
	// Watch calls update with the data, now and after each change, until ctx ends; without data where it knows that there
	// is no Secret.
	Watch(ctx context.Context, update func(data map[string][]byte)) error
}

// readers are those who may read status and metrics: who shows a token of the Secret credentials.ReaderName. Nobody is
// asked when one of them comes, so that a site whose API server is gone can still be watched. Of the tokens only
// digests are kept; they lie on a volume too, for a sidecar that starts while the API server is away.
type readers struct {
	file   durable.Moved
	log    *slog.Logger
	source Source

	mu      sync.Mutex
	digests []digest
}

type digest [sha256.Size]byte

// Admit lets those read status and metrics who show a token that the source has; without a source nobody may. It must
// be called before Run.
func (a *Agent) Admit(source Source) { a.readers.source = source }

// guard answers 401 to those who may not read.
func (r *readers) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if !r.admits(request) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(
				w,
				"a bearer token of Secret "+credentials.ReaderName+" in the pod's namespace is needed",
				http.StatusUnauthorized,
			)
			return
		}
		next.ServeHTTP(w, request)
	})
}

// admits compares digests in constant time.
func (r *readers) admits(request *http.Request) bool {
	token, ok := strings.CutPrefix(request.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return false
	}
	shown := digest(sha256.Sum256([]byte(token)))
	r.mu.Lock()
	defer r.mu.Unlock()
	admitted := 0
	for _, known := range r.digests {
		admitted |= subtle.ConstantTimeCompare(shown[:], known[:])
	}
	return admitted == 1
}

// run follows the source until ctx ends.
func (r *readers) run(ctx context.Context) {
	if r.source == nil {
		return
	}
	if err := r.load(); err != nil {
		r.log.Warn("the remembered readers cannot be read", "error", err)
	}
	err := r.source.Watch(ctx, func(data map[string][]byte) {
		var digests []digest
		for _, token := range credentials.ReaderTokens(data) {
			digests = append(digests, sha256.Sum256([]byte(token)))
		}
		r.mu.Lock()
		r.digests = digests
		r.mu.Unlock()
		if err := r.save(digests); err != nil {
			r.log.Warn("the readers cannot be remembered", "error", err)
		}
	})
	if err != nil && ctx.Err() == nil {
		r.log.Error("the readers are not followed any more", "error", err)
	}
}

func (r *readers) load() error {
	content, err := r.file.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var lines []string
	if err == nil {
		err = json.Unmarshal(content, &lines)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", r.file.Path, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range lines {
		var d digest
		if n, err := hex.Decode(d[:], []byte(line)); err != nil || n != len(d) {
			return fmt.Errorf("read %s: not the SHA-256 of a token", r.file.Path)
		}
		r.digests = append(r.digests, d)
	}
	return nil
}

func (r *readers) save(digests []digest) error {
	lines := make([]string, 0, len(digests))
	for _, d := range digests {
		lines = append(lines, hex.EncodeToString(d[:]))
	}
	content, err := json.Marshal(lines)
	if err != nil {
		return fmt.Errorf("encode the readers: %w", err)
	}
	return r.file.Replace(content)
}

// addReaders lets the Secret of the pod's namespace say who may read. Outside of a pod nobody may.
func addReaders(a *Agent, o Options) error {
	if o.PodUID == "" {
		return nil
	}
	client, err := siteClient()
	if err != nil {
		return err
	}
	a.Admit(ReaderSecret(client, o.Namespace))
	return nil
}

// ReaderSecret tells the readers of the sidecars of a namespace, at the site of the client. With the Secret they end.
func ReaderSecret(client kubernetes.Interface, namespace string) Source {
	return holder.SecretSource{Client: client, Namespace: namespace, Name: credentials.ReaderName, TellsMissing: true}
}

// siteClient is a client of the API server of the pod's own site.
func siteClient() (*kubernetes.Clientset, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("find the site's API server: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of the site's API server: %w", err)
	}
	return client, nil
}
