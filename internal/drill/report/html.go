// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
)

var (
	//go:embed page/page.html.tmpl
	pageText string
	//go:embed page/style.css
	styleText string

	pageTemplate = template.Must(template.New("page").Parse(pageText))
)

// page is what the template shows.
type page struct {
	Verdict, Class, Namespace, Drill, RunID string
	Subtitle, Message                       string
	Style                                   template.CSS
	Warnings, Evidence                      []string
	Objectives                              table
	Tables                                  []table
	Picture                                 *picture
	Download                                *download
}

// download is the archive within the page: in the link itself while that is short enough for browsers, else beside it.
type download struct {
	Name, Size string
	URL        template.URL
	Base64     template.HTML
}

const (
	// maxLink is how many bytes a link carries: Chromium takes no URL above 2 MiB.
	maxLink = 1 << 20
	// maxPage is how many bytes of an archive a page carries.
	maxPage = 32 << 20
)

func (r Report) html() ([]byte, error) {
	p := page{
		Verdict: string(r.Verdict), Class: class(r.Verdict), Namespace: r.Namespace, Drill: r.Drill, RunID: r.RunID,
		Subtitle: r.subtitle(), Message: r.lead(), Warnings: r.warnings(),
		Style:      template.CSS(styleText), //nolint:gosec // the program's own
		Evidence:   r.evidence(),
		Objectives: r.objectives(), Tables: r.tables(), Picture: r.picture(),
	}
	if r.archive != nil {
		packed, err := r.archive.Packed()
		if err != nil {
			return nil, err
		}
		p.attach(fmt.Sprintf("%s-%s.tar", r.Drill, r.RunID), packed)
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, p); err != nil {
		return nil, fmt.Errorf("write the page of drill %s: %w", r.Drill, err)
	}
	return out.Bytes(), nil
}

// attach puts the packed archive into the page.
func (p *page) attach(name string, packed []byte) {
	if len(packed) > maxPage {
		p.Evidence = append(
			p.Evidence,
			fmt.Sprintf(
				"The archive is too large for a page (%s): kubectl geosql drill report %s -n %s -o archive writes it to a file.",
				size(len(packed)),
				p.Drill,
				p.Namespace,
			),
		)
		return
	}
	// Nothing of base64's alphabet is markup.
	text := base64.StdEncoding.EncodeToString(packed)
	p.Download = &download{Name: name, Size: size(len(packed))}
	if len(packed) <= maxLink {
		p.Download.URL = template.URL("data:application/x-tar;base64," + text) //nolint:gosec // letters and digits
	} else {
		p.Download.Base64 = template.HTML(text) //nolint:gosec // letters and digits
	}
}

func size(bytes int) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}
