// SPDX-License-Identifier: Apache-2.0

package wan_test

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/test/support/figures"
	"geosql.dev/operator/test/support/wan"
)

// patient is how long a busy machine may take.
const patient = time.Minute

// What goes through a link takes its round trip and its rate, and what is lost in a cut arrives when that ends.
func TestALinkIsLongNarrowAndCut(t *testing.T) {
	g := NewWithT(t)
	n := wan.New(t, 2)
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = echo.Close() })
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	c, err := net.Dial("tcp", n.Through(t, 1, echo.Addr().String()))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = c.Close() })
	exchange := func(bytes int) time.Duration {
		g.Expect(c.SetDeadline(time.Now().Add(patient))).To(Succeed())
		began := time.Now()
		go func() { _, _ = c.Write(make([]byte, bytes)) }()
		_, err := io.ReadFull(c, make([]byte, bytes))
		g.Expect(err).NotTo(HaveOccurred())
		return time.Since(began)
	}
	exchange(1)

	n.Shape(t, figures.Link{RoundTrip: 60 * time.Millisecond})
	g.Expect(exchange(1)).To(BeNumerically(">=", 60*time.Millisecond))
	narrow := figures.Link{Rate: 4e6, RoundTrip: 20 * time.Millisecond}
	n.Shape(t, narrow)
	g.Expect(exchange(200e3)).To(BeNumerically(">=", narrow.Least(200e3)))

	n.Cut(t, 1)
	_, err = c.Write([]byte{1})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.SetDeadline(time.Now().Add(300 * time.Millisecond))).To(Succeed())
	_, err = c.Read(make([]byte, 1))
	g.Expect(errors.Is(err, os.ErrDeadlineExceeded)).To(BeTrue(), "%v", err)
	n.Mend(t, 1)
	g.Expect(c.SetDeadline(time.Now().Add(patient))).To(Succeed())
	_, err = io.ReadFull(c, make([]byte, 1))
	g.Expect(err).NotTo(HaveOccurred())
}

// What comes to nobody is closed, and whoever connected sees it.
func TestNobodyIsThere(t *testing.T) {
	g := NewWithT(t)
	n := wan.New(t, 1)
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(gone.Close()).To(Succeed())
	c, err := net.Dial("tcp", n.Through(t, 0, gone.Addr().String()))
	g.Expect(err).NotTo(HaveOccurred())
	defer c.Close()
	g.Expect(c.SetDeadline(time.Now().Add(patient))).To(Succeed())
	_, err = c.Read(make([]byte, 1))
	g.Expect(err).To(HaveOccurred())
	g.Expect(errors.Is(err, os.ErrDeadlineExceeded)).To(BeFalse())
}
