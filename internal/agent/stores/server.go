// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"syscall"
	"time"

	"geosql.dev/operator/internal/mssql/credentials"
)

const (
	// Bucket is the name of the bucket in which stores are, each below NAMESPACE/NAME.
	Bucket = "stores"
	// Pattern is the path under which a Part answers.
	Pattern = "/" + Bucket + "/"
	// pause is how long the other side may let nothing go either way: the server's own limits, which count from the
	// request, are for short ones.
	pause = time.Minute
	// lingers is how long, and lingersMost how many bytes, what is left of a refused body is taken and thrown away. A
	// connection that is closed on somebody who still sends is reset, and the answer is lost with it.
	lingers     = 10 * time.Second
	lingersMost = 64 << 20
)

// refusal is what is answered instead of what was asked for.
type refusal struct {
	status int
	code   string
	why    string
}

func (r *refusal) Error() string { return r.code + ": " + r.why }

func refuse(status int, code, format string, with ...any) error {
	return &refusal{status, code, fmt.Sprintf(format, with...)}
}

// refusalOf is what an error is answered by. What is of this volume alone is said in the log, and to servers of the
// namespace, which nobody else is.
func refusalOf(err error) *refusal {
	var r *refusal
	switch {
	case errors.As(err, &r):
		return r
	case errors.Is(err, errFull):
		return &refusal{http.StatusInsufficientStorage, "InsufficientStorage", err.Error()}
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR):
		return &refusal{http.StatusBadRequest, "InvalidArgument", err.Error()}
	}
	return &refusal{http.StatusInternalServerError, "InternalError", err.Error()}
}

// request is one that was let in.
type request struct {
	*http.Request
	*shelf
	w   http.ResponseWriter
	log *slog.Logger
	// key of the object, or what those begin with that are listed, without the store's own part; before is that.
	key, before string
}

// ServeHTTP answers the sidecars of the namespace's servers.
func (p *Part) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	w = &patient{ResponseWriter: w, control: control}
	sent := r.Body
	r.Body = &patientBody{ReadCloser: r.Body, control: control}
	err := p.answer(w, r)
	if err == nil {
		return
	}
	said := refusalOf(err)
	if said.status == http.StatusInternalServerError {
		p.log.Warn("a store was asked for what it could not do", "request", r.Method+" "+r.URL.Path, "error", err)
	}
	answer := answerError{Code: said.code, Message: said.why, Resource: r.URL.Path}
	if said.status >= http.StatusBadRequest && r.Method == http.MethodPut {
		w.Header().Set("Connection", "close")
		// Without it, the answer waits for the body. HTTP/2 has it anyway, and says that it does not know it.
		_ = control.EnableFullDuplex()
		respond(w, said.status, answer)
		_ = control.Flush()
		linger(control, sent)
		return
	}
	respond(w, said.status, answer)
}

// linger takes what comes until who sends it has read the answer and hangs up.
func linger(control *http.ResponseController, sent io.Reader) {
	_ = control.SetReadDeadline(time.Now().Add(lingers))
	_, _ = io.CopyN(io.Discard, sent, lingersMost) // how it ends changes nothing
}

type answerError struct {
	XMLName                 xml.Name `xml:"Error"`
	Code, Message, Resource string
}

// respond answers with a document.
func respond(w http.ResponseWriter, status int, document any) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, xml.Header)
	_ = xml.NewEncoder(w).Encode(document) // whoever asked is gone
}

func (p *Part) answer(w http.ResponseWriter, r *http.Request) error {
	if err := p.known(r); err != nil {
		return err
	}
	if err := p.slot(r); err != nil {
		return err
	}
	defer func() { <-p.slots }()
	path, ok := strings.CutPrefix(r.URL.Path, Pattern)
	switch {
	case !ok:
		return refuse(http.StatusNotFound, "NoSuchBucket", "there is the bucket %s alone", Bucket)
	case path == "":
		return p.list(w, r)
	}
	q, err := p.find(w, r, path)
	if err != nil {
		return err
	}
	if q.key == "" || !fs.ValidPath(q.key) || strings.ContainsRune(q.key, 0) {
		return refuse(http.StatusBadRequest, "InvalidArgument", "%q is no key of an object", q.key)
	}
	return q.object()
}

// slot has a request be one of those that are answered, once another is answered. More than come at once may be asked
// by few servers: who is refused at once has nothing to wait for, and gives a part up.
func (p *Part) slot(r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), p.patience)
	defer cancel()
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return refuse(http.StatusServiceUnavailable, "SlowDown", "%d requests are being answered", requestsMost)
	}
}

// known says whether a server of the namespace asks.
func (p *Part) known(r *http.Request) error {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return refuse(http.StatusForbidden, "AccessDenied", "servers of namespace %s are answered alone, by their "+
			"certificates", p.namespace)
	}
	if leaf := r.TLS.VerifiedChains[0][0]; !credentials.InNamespace(leaf, p.namespace) {
		return refuse(http.StatusForbidden, "AccessDenied", "servers of namespace %s are answered alone, and the "+
			"certificate is for %s", p.namespace, strings.Join(leaf.DNSNames, ", "))
	}
	return nil
}

// find is the store that something is below: NAMESPACE/NAME/KEY.
func (p *Part) find(w http.ResponseWriter, r *http.Request, path string) (*request, error) {
	namespace, rest, _ := strings.Cut(path, "/")
	name, key, below := strings.Cut(rest, "/")
	s := p.shelf(name)
	if namespace != p.namespace || s == nil || !below {
		return nil, refuse(http.StatusForbidden, "AccessDenied", "%s is in no store that is kept here", path)
	}
	return &request{Request: r, shelf: s, w: w, log: p.log, key: key, before: namespace + "/" + name + "/"}, nil
}

// list answers what is asked of the bucket.
func (p *Part) list(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	if r.Method != http.MethodGet {
		return refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "%s is not done with the bucket", r.Method)
	}
	prefix := query.Get("prefix")
	if parts := strings.SplitN(prefix, "/", 3); len(parts) == 2 {
		prefix += "/" // a list of a whole store
	}
	q, err := p.find(w, r, prefix)
	switch {
	case err != nil:
		return err
	case query.Has("uploads"):
		return q.listUploads()
	case query.Get("list-type") == "2":
		return q.listObjects()
	}
	return refuse(http.StatusNotImplemented, "NotImplemented", "that is not answered")
}

// object answers what is asked of an object.
func (q *request) object() error {
	query := q.URL.Query()
	id := query.Get("uploadId")
	switch {
	case q.Method == http.MethodGet && id != "":
		return q.listParts(id)
	case q.Method == http.MethodGet && len(query) > 0:
	case q.Method == http.MethodGet, q.Method == http.MethodHead:
		return q.get()
	case q.Method == http.MethodPost && query.Has("uploads"):
		return q.begin()
	case q.Method == http.MethodPost && id != "":
		return q.complete(id)
	case q.Method == http.MethodPut && id != "":
		return q.putPart(id)
	case q.Method == http.MethodPut && q.Header.Get("X-Amz-Copy-Source") == "":
		return q.put()
	case q.Method == http.MethodDelete && id != "":
		return q.abort(id)
	case q.Method == http.MethodDelete:
		return q.remove()
	}
	return refuse(http.StatusNotImplemented, "NotImplemented", "that is not done with an object")
}

// patient gives every part of an answer its own time, patientBody every part of what is sent.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (p *patient) WriteHeader(status int) {
	// Not every ResponseWriter has deadlines; without one there is nothing to move.
	_ = p.control.SetWriteDeadline(time.Now().Add(pause))
	p.ResponseWriter.WriteHeader(status)
}

func (p *patient) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(pause))
	return p.ResponseWriter.Write(b)
}

type patientBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (p *patientBody) Read(b []byte) (int, error) {
	_ = p.control.SetReadDeadline(time.Now().Add(pause))
	return p.ReadCloser.Read(b)
}
