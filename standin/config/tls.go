// SPDX-License-Identifier: Apache-2.0

package config

import (
	"crypto/tls"
	"fmt"
	"os"
	"syscall"
)

// versions are the names of network.tlsprotocols.
var versions = map[string]uint16{
	"1.0": tls.VersionTLS10,
	"1.1": tls.VersionTLS11,
	"1.2": tls.VersionTLS12,
	"1.3": tls.VersionTLS13,
}

// Config loads the certificate and makes the TLS configuration; nil without a certificate, when the server signs one
// itself. Protocols that are not set mean 1.2 and later.
func (s TLSSettings) Config(selfSigned func() (tls.Certificate, error)) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(s.Protocols) > 0 {
		c.MinVersion, c.MaxVersion = 0, 0
		for _, name := range s.Protocols {
			v, ok := versions[name]
			if !ok {
				return nil, refuse("mssql.conf setting network.tlsprotocols must be a list of 1.0, 1.1, 1.2 and 1.3, not %q.", name)
			}
			if c.MinVersion == 0 || v < c.MinVersion {
				c.MinVersion = v
			}
			c.MaxVersion = max(c.MaxVersion, v)
		}
	}
	if (s.Certificate == "") != (s.Key == "") {
		return nil, refuse("mssql.conf settings network.tlscert and network.tlskey must be given together.")
	}
	if err := s.checkKey(); err != nil {
		return nil, err
	}
	cert, err := selfSigned, error(nil)
	if s.Certificate != "" {
		cert = func() (tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(s.Certificate, s.Key)
			if err != nil {
				return pair, fmt.Errorf(
					"load certificate %s with key %s (network.tlscert, network.tlskey): %w",
					s.Certificate,
					s.Key,
					err,
				)
			}
			return pair, nil
		}
	}
	pair, err := cert()
	if err != nil {
		return nil, err
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

// checkKey refuses a key that is not the engine's own, where it has to be (KeyIsOwn).
func (s TLSSettings) checkKey() error {
	if !s.OwnKey || s.Key == "" {
		return nil
	}
	info, err := os.Stat(s.Key)
	if err != nil {
		return fmt.Errorf("look at key %s (network.tlskey): %w", s.Key, err)
	}
	if own, ok := info.Sys().(*syscall.Stat_t); !ok || int(own.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return refuse("The key %s (network.tlskey) must belong to the server's user, with mode 400 or 600.", s.Key)
	}
	return nil
}
