// SPDX-License-Identifier: Apache-2.0

package xmldata_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/xmldata"
)

// What is read comes back as SQL Server gives it: docs/relational-databases/xml/create-instances-of-xml-data.md, White
// Space Handling.
func TestInstancesComeBackInOneForm(t *testing.T) {
	g := NewWithT(t)
	for text, want := range map[string]string{
		"<root>      <child/>     </root>":     "<root><child/></root>",
		"<a b='x'></a>":                        `<a b="x"/>`,
		`<?xml version="1.0"?><r><a>1</a></r>`: "<r><a>1</a></r>",
		"<r><a><![CDATA[x<y]]></a></r>":        "<r><a>x&lt;y</a></r>",
		"<a/> <b/>":                            "<a/><b/>",
		"<a/> x <b/>":                          "<a/> x <b/>",
		"only text":                            "only text",
		"":                                     "",
		"<a>&#x41;&#66;&amp;&quot;</a>":        `<a>AB&amp;"</a>`,
		"<a b='\"&#10;'/>":                     `<a b="&quot;&#x0A;"/>`,
		"<a>\r\nx</a>":                         "<a>\nx</a>",
		"<a> <b xml:space='preserve'> <c/> </b> </a>":         `<a><b xml:space="preserve"> <c/> </b></a>`,
		"<p:a xmlns:p='u' xmlns='d' p:b='1'><c/></p:a>":       `<p:a xmlns:p="u" xmlns="d" p:b="1"><c/></p:a>`,
		"<!-- c --><?t d?><a/>":                               "<!-- c --><?t d?><a/>",
		"\ufeff<a/>":                                          "<a/>",
		"<a>x <b> </b> y</a>":                                 "<a>x <b/> y</a>",
		"<a>&#x20;</a>":                                       "<a> </a>",
		"<a>é€𝐀</a>":                                          "<a>é€𝐀</a>",
		`<?xml version="1.0" encoding="utf-8"?><a>` + `</a >`: "<a/>",
	} {
		d, err := xmldata.Parse(text, xmldata.Options{})
		g.Expect(err).To(BeNil(), "%s: %v", text, err)
		g.Expect(d.String()).To(Equal(want), text)
	}
	d, err := xmldata.Parse("<root>      <child/>     </root>", xmldata.Options{Preserve: true})
	g.Expect(err).To(BeNil())
	g.Expect(d.String()).To(Equal("<root>      <child/>     </root>"))
}

// docs/relational-databases/errors-events/database-engine-events-and-errors-9000-to-9999.md.
func TestTextThatIsNotWellFormed(t *testing.T) {
	g := NewWithT(t)
	deep := strings.Repeat("<a>", 129) + strings.Repeat("</a>", 129)
	for text, want := range map[string]string{
		"<a>":                        "9400 XML parsing: line 1, character 3, unexpected end of input",
		"<a><b></a>":                 "9436 XML parsing: line 1, character 10, end tag does not match start tag",
		"<X>a&b</X>":                 "9411 XML parsing: line 1, character 7, semicolon expected",
		"<tag>&</tag>":               "9421 XML parsing: line 1, character 7, illegal name character",
		"<a>\n<b>&x;</b></a>":        "9448 XML parsing: line 2, character 6, well formed check: undeclared entity",
		"<a>1 < 2</a>":               "9455 XML parsing: line 1, character 7, illegal qualified name character",
		"<a b=1/>":                   "9413 XML parsing: line 1, character 6, A string literal was expected",
		"<a b/>":                     "9414 XML parsing: line 1, character 5, equal expected",
		"<a b='1'c='2'/>":            "9410 XML parsing: line 1, character 9, whitespace expected",
		"<a b='<'/>":                 "9415 XML parsing: line 1, character 7, well formed check: no '<' in attribute value",
		"<a b='1' b='2'/>":           "9437 XML parsing: line 1, character 16, duplicate attribute",
		"<p:a/>":                     "9459 XML parsing: line 1, character 6, undeclared prefix",
		"</a":                        "9412 XML parsing: line 1, character 3, '>' expected",
		"<a>\x01</a>":                "9420 XML parsing: line 1, character 4, illegal xml character",
		"<a>]]></a>":                 "9454 XML parsing: line 1, character 6, no ']]>' in element content",
		" <?xml version='1.0'?><a/>": "9438 XML parsing: line 1, character 6, text/xmldecl not at the beginning of input",
		"<?xml version='1.0' encoding='utf-16'?><a/>": "9402 XML parsing: line 1, character 39, unable to switch " +
			"the encoding",
		"<?xml version='1.0' encoding='no'?><a/>": "9401 XML parsing: line 1, character 33, unrecognized encoding",
		"<!DOCTYPE a><a/>": "6359 Parsing XML with internal subset DTDs not allowed. Use " +
			"CONVERT with style option 2 to enable limited internal subset DTD support.",
		"<a xmlns:p=''/>": "9460 XML parsing: line 1, character 13, non default namespace " +
			"with empty uri",
		"<!-- a -- b --><a/>": "9424 XML parsing: line 1, character 10, incorrect comment syntax",
		deep: "6335 XML datatype instance has too many levels of nested nodes. " +
			"Maximum allowed depth is 128 levels.",
	} {
		_, err := xmldata.Parse(text, xmldata.Options{})
		g.Expect(err).NotTo(BeNil(), text)
		number, message, _ := strings.Cut(want, " ")
		g.Expect([]any{err.Number, err.Message}).To(Equal([]any{int32(atoi(number)), message}), text)
	}
}

func atoi(s string) (n int) {
	for _, c := range s {
		n = n*10 + int(c-'0')
	}
	return n
}

// What is accepted is XML to another parser, and is read the same again from what is written.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"<a b='1'>x<!-- c --><?p d?><![CDATA[y]]></a>", "<p:a xmlns:p='u'/>", "&#x41;", "<a",
		"<?xml version='1.0'?><a/>", "<a xml:space='preserve'> </a>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := xmldata.Parse(text, xmldata.Options{Decoded: true})
		if err != nil {
			if err.Number == 0 {
				t.Fatalf("an error without a number: %v", err)
			}
			return
		}
		written := d.String()
		again, err := xmldata.Parse(written, xmldata.Options{Preserve: true, Decoded: true})
		if err != nil || again.String() != written {
			t.Fatalf("%q became %q, which is read as %v, %v", text, written, again, err)
		}
		if len(again.Nodes) != len(d.Nodes) {
			t.Fatalf("%q has %d nodes, and %d as %q", text, len(d.Nodes), len(again.Nodes), written)
		}
		other := xml.NewDecoder(strings.NewReader("<all>" + written + "</all>"))
		for {
			if _, err := other.Token(); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				t.Fatalf("%q: encoding/xml says %v", written, err)
			}
		}
	})
}
