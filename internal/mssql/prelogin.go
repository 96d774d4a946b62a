// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Prelogin connects and asks for the server's PRELOGIN answer, the least that a living engine gives to anybody
// ([MS-TDS] 2.2.6.5). The error is an *Error: Unreachable when nobody listens, Unknown when no answer comes before the
// deadline of ctx, Refused when something else than TDS answers.
func Prelogin(ctx context.Context, address string) error {
	const doing = "ask for the PRELOGIN answer"
	ctx, cancel := bounded(ctx)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return newError(address, doing, err)
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return newError(address, doing, err)
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := conn.Write(preloginRequest()); err != nil {
		return newError(address, doing, err)
	}
	header := make([]byte, 8)
	if _, err := io.ReadFull(conn, header); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return &Error{Server: address, Doing: doing, Class: Refused, Err: errors.New("the connection was closed")}
		}
		return newError(address, doing, err)
	}
	const tabularResult = 0x04
	if header[0] != tabularResult {
		return &Error{
			Server: address,
			Doing:  doing,
			Class:  Refused,
			Err:    fmt.Errorf("the answer is of type %#02x, not a TDS response", header[0]),
		}
	}
	return nil
}

// preloginRequest is a PRELOGIN packet with VERSION and ENCRYPTION, which says that encryption is available.
func preloginRequest() []byte {
	options := []byte{
		0x00, 0, 11, 0, 6, // VERSION: offset 11, 6 bytes
		0x01, 0, 17, 0, 1, // ENCRYPTION: offset 17, 1 byte
		0xff,             // terminator
		0, 0, 0, 0, 0, 0, // client version 0.0.0.0
		0x00, // ENCRYPT_OFF: encryption is available
	}
	length := 8 + len(options)
	packet := []byte{0x12, 0x01, byte(length >> 8), byte(length), 0, 0, 1, 0} //nolint:gosec // two bytes
	return append(packet, options...)
}
