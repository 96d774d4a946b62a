// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/internal/workload/history/listappend"
)

func TestRecordedHistoriesAreReadAgain(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	r, err := history.Create(
		folder,
		history.Header{Run: 7, Client: "tukwila", Boot: "b", Address: "content:1433", Database: "Content"},
	)
	g.Expect(err).NotTo(HaveOccurred())
	first, err := r.Invoke(history.Insert, 0, 0)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = r.Invoke(history.Insert, 0, 0)
	g.Expect(err).To(HaveOccurred(), "one operation at a time")
	first.Outcome, first.Server, first.Configuration = history.OK, "a-0", 3<<32|1
	g.Expect(r.Complete(first)).To(Succeed())
	read, err := r.Invoke(history.Read, 2, 0)
	g.Expect(err).NotTo(HaveOccurred())
	read.Outcome, read.Value = history.OK, 41
	g.Expect(r.Complete(read)).To(Succeed())
	g.Expect(r.Complete(read)).NotTo(Succeed(), "an operation ends once")
	g.Expect(r.End()).To(Succeed())

	// Another run is killed while it writes the end of an operation.
	r, err = history.Create(folder, history.Header{Run: 8, Client: "tukwila", Boot: "b"})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = r.Invoke(history.Write, 1, 5)
	g.Expect(err).NotTo(HaveOccurred())
	torn, err := os.OpenFile(filepath.Join(folder, "tukwila-8.history"), os.O_APPEND|os.O_WRONLY, 0)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = torn.WriteString(`{"k":"ok","n":1,"t":12`)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(torn.Close()).To(Succeed())
	r, err = history.Create(folder, history.Header{Run: 9, Client: "tukwila", Boot: "b"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.End()).To(Succeed())

	newest, err := history.Latest(folder)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(newest.Acknowledged).To(Equal(first.Invoked), "neither the read nor the write without an end")

	var packed bytes.Buffer
	g.Expect(history.Export(folder, &packed)).To(Succeed())
	whole := bytes.Clone(packed.Bytes())
	runs, err := history.Load(&packed)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(runs).To(HaveLen(3))
	g.Expect(runs[0].Header).
		To(Equal(history.Header{Run: 7, Client: "tukwila", Boot: "b", Address: "content:1433", Database: "Content"}))
	g.Expect(runs[0].Ended).To(BeTrue())
	g.Expect(runs[0].Operations).To(HaveLen(2))
	o := runs[0].Operations[0]
	g.Expect(o).To(And(HaveField("Outcome", history.OK), HaveField("Server", "a-0"), HaveField("Number", int64(1))))
	g.Expect(o.Term()).To(BeEquivalentTo(3))
	g.Expect(o.Completed.Monotonic).To(BeNumerically(">=", o.Invoked.Monotonic))
	g.Expect(runs[0].Operations[1]).To(And(HaveField("Key", int64(2)), HaveField("Value", int64(41))))
	g.Expect(runs[1]).To(And(HaveField("Ended", false), HaveField("Torn", 1)))
	g.Expect(runs[1].Operations).To(ConsistOf(And(HaveField("Outcome", history.Unknown), HaveField("Value", int64(5)))))
	g.Expect(runs[2].Ended).To(BeTrue())

	_, err = history.Load(bytes.NewReader(whole[:len(whole)-12]))
	g.Expect(err).To(HaveOccurred(), "a stream that breaks off is not a short history")
	_, err = history.Create(folder, history.Header{Run: 9, Client: "tukwila"})
	g.Expect(err).To(HaveOccurred(), "no run is written over")
}

func TestFilesThatAreNoHistories(t *testing.T) {
	for _, text := range []string{
		`{"k":"invoke","n":1}`,
		`{"k":"begin","format":"geosql-history/9","header":{"run":1}}`,
		"{\"k\":\"begin\",\"format\":\"geosql-history/1\",\"header\":{\"run\":1}}\n{\"k\":\"ok\",\"n\":4}",
		"{\"k\":\"begin\",\"format\":\"geosql-history/1\",\"header\":{\"run\":1}}\n{\"k\":\"sometimes\"}",
	} {
		_, err := history.Load(bytes.NewBufferString(text))
		NewWithT(t).Expect(err).To(HaveOccurred(), text)
	}
}

// Steps on lists are read again with what they read; those of a transaction whose end is not known have read nothing.
func TestStepsAreReadAgain(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	r, err := history.Create(folder, history.Header{Run: 7, Client: "tukwila", Boot: "b"})
	g.Expect(err).NotTo(HaveOccurred())
	steps := []listappend.Step{{List: 5, Append: "7.1.0"}, {List: 6}, {List: 7}}
	o, err := r.InvokeSteps("append", steps)
	g.Expect(err).NotTo(HaveOccurred())
	o.Outcome = history.OK
	o.Steps = []listappend.Step{steps[0], {List: 6, Read: listappend.List{"7.0.0", "8.1.2"}}, steps[2]}
	g.Expect(r.Complete(o)).To(Succeed())
	_, err = r.InvokeSteps("append", steps[1:])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.End()).To(Succeed())
	var packed bytes.Buffer
	g.Expect(history.Export(folder, &packed)).To(Succeed())
	runs, err := history.Load(&packed)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(runs[0].Operations).To(HaveLen(2))
	g.Expect(runs[0].Operations[0].Steps).To(Equal(o.Steps))
	g.Expect(runs[0].Operations[1].Steps).To(Equal(steps[1:]))
	_, err = history.Load(bytes.NewBufferString(`{"k":"begin","format":"geosql-history/1","header":{"run":7}}` + "\n" +
		`{"k":"invoke","n":1,"f":"insert","x":[{"l":6}]}` + "\n" + `{"k":"ok","n":1}`))
	g.Expect(err).To(MatchError(ContainSubstring("operation 1 ends without all that it has read")))
}
