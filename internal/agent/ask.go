// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
)

const (
	// statusBytes bounds what is read of an answer.
	statusBytes = 1 << 20
	// refusalBytes bounds what is read, and told, of an answer that is none.
	refusalBytes = 200
)

// StatusOf asks the agent of a server with what the Secrets of the server's certificate and of the readers of its site
// hold; see ReadStatus.
func StatusOf(
	ctx context.Context,
	address, namespace string,
	server v1alpha1.ServerName,
	certificate, readers map[string][]byte,
) ([]byte, error) {
	token := ""
	if tokens := credentials.ReaderTokens(readers); len(tokens) > 0 {
		token = tokens[0]
	}
	return ReadStatus(ctx, address, namespace, credentials.HostName(server), credentials.TrustOf(certificate), token)
}

// ReadStatus asks the agent of a server for its /status, which is JSON. It is reached at address, a host and a port;
// its certificate is for host, the name of the server's instance, in the namespace, and signed by ca (PEM). The token
// is one of Secret credentials.ReaderName; where it is empty none is shown, which agents of earlier releases take and
// others answer with 401. An error names the host.
func ReadStatus(
	ctx context.Context,
	address, namespace, host string,
	ca []byte,
	token string,
) ([]byte, error) {
	return ReadStatusOver(ctx, nil, address, namespace, host, ca, token)
}

// Dial opens a connection to an agent.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// ReadStatusOver is ReadStatus over another way than the network's, which a nil dial takes.
func ReadStatusOver(
	ctx context.Context,
	dial Dial,
	address, namespace, host string,
	ca []byte,
	token string,
) ([]byte, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf(
			"ask the agent of %s: its certificate cannot be verified: there is no %s",
			host,
			credentials.KeyCA,
		)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/status", nil)
	if err != nil {
		return nil, fmt.Errorf("ask the agent of %s: %w", host, err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{
		DialContext: dial,
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: host, MinVersion: tls.VersionTLS12,
			VerifyConnection: credentials.Of(host, namespace)},
	}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the agent of %s: %w", host, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, refusalBytes))
		return nil, fmt.Errorf("the agent of %s answers %s: %s", host, response.Status, bytes.TrimSpace(text))
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, statusBytes))
	if err != nil {
		return nil, fmt.Errorf("read what the agent of %s answers: %w", host, err)
	}
	return body, nil
}
