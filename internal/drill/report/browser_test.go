// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"image"
	"image/color"
	_ "image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/drill/report"
)

// chromium is the browser's path. Where it is not installed, the test is skipped unless GEOSQL_REQUIRE_CHROMIUM is set.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("GEOSQL_REQUIRE_CHROMIUM") != "" {
		t.Fatal("chromium is not installed, and GEOSQL_REQUIRE_CHROMIUM asks for it: make test-report installs it")
	}
	t.Skip("chromium is not installed: make test-report installs it")
	return ""
}

// measures is what the browser found out about the page in a frame of some width.
type measures struct {
	Title       string   `json:"title"`
	Verdict     string   `json:"verdict"`
	Width       int      `json:"width"`
	ScrollWidth int      `json:"scrollWidth"`
	Height      int      `json:"height"`
	Smallest    float64  `json:"smallest"`
	Outside     []string `json:"outside"`
	Overlapping []string `json:"overlapping"`
	Charts      []string `json:"charts"`
	ChartWidth  float64  `json:"chartWidth"`
	Unseen      []string `json:"unseen"`
	Download    string   `json:"download"`
	Bytes       string   `json:"bytes"`
}

// frame shows the page in a frame as wide as a device, since a browser's window cannot be made as narrow as a phone,
// and writes what it finds into an element of its own.
const frame = `<!DOCTYPE html><html><body style="margin:0"><iframe id="f" src="/report.html" style="border:0;width:%[1]dpx;height:%[2]dpx"></iframe>
<pre id="measures"></pre><script>
addEventListener("load", function () {
  var d = document.getElementById("f").contentDocument, root = d.documentElement, w = root.clientWidth;
  var m = { title: d.title, verdict: d.querySelector(".verdict").textContent, width: w, scrollWidth: root.scrollWidth, height: Math.ceil(d.body.getBoundingClientRect().bottom),
    smallest: 99, outside: [], overlapping: [], charts: [], unseen: [], chartWidth: 0 };
  function box(e) { return e.getBoundingClientRect(); }
  function shown(e) { var b = box(e); return b.width > 0 && b.height > 0 && d.defaultView.getComputedStyle(e).visibility !== "hidden"; }
  d.querySelectorAll("body *").forEach(function (e) {
    if (e.tagName === "SCRIPT" || e.closest("svg") || e.closest("thead") || !shown(e) || !e.textContent.trim()) { return; }
    var own = Array.prototype.some.call(e.childNodes, function (n) { return n.nodeType === 3 && n.textContent.trim(); });
    if (!own) { return; }
    m.smallest = Math.min(m.smallest, parseFloat(d.defaultView.getComputedStyle(e).fontSize));
    var b = box(e);
    if (!e.closest(".track") && (b.left < -1 || b.right > w + 1)) { m.outside.push(e.tagName + " " + e.textContent.slice(0, 40)); }
  });
  d.querySelectorAll(".times, .values").forEach(function (axis) {
    var last = null;
    Array.prototype.filter.call(axis.children, shown).forEach(function (e) {
      var b = box(e);
      if (last && b.left < last.right && b.right > last.left && b.top < last.bottom - 1 && b.bottom > last.top + 1) { m.overlapping.push(e.textContent); }
      last = b;
    });
  });
  d.querySelectorAll("figure").forEach(function (f) {
    m.charts.push(f.querySelector("strong").textContent);
    m.chartWidth = box(f.querySelector("svg[role=img]")).width;
    f.querySelectorAll("path.line").forEach(function (p) { if (p.getTotalLength() < 20) { m.unseen.push(f.querySelector("strong").textContent); } });
  });
  var link = d.getElementById("download");
  if (link) { m.download = link.href.slice(0, 5); m.bytes = link.dataset.bytes || ""; }
  document.getElementById("measures").textContent = JSON.stringify(m);
});
</script></body></html>`

// site serves a page and its frame, and notes everything else that the browser asks for.
type site struct {
	*httptest.Server
	mutex sync.Mutex
	asked []string
}

func serve(t *testing.T, page []byte, width, height int) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/frame.html":
			fmt.Fprintf(w, frame, width, height)
		case "/report.html":
			_, _ = w.Write(page)
		case "/favicon.ico":
			http.NotFound(w, r)
		default:
			s.mutex.Lock()
			defer s.mutex.Unlock()
			s.asked = append(s.asked, r.URL.Path)
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// browse runs the browser without a window and returns what it printed.
func browse(t *testing.T, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	common := []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
		"--disable-background-networking",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--user-data-dir=" + t.TempDir(),
	}
	out, err := exec.CommandContext(ctx, chromium(t), append(common, args...)...).Output()
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "run chromium %v", args)
	return out
}

func measured(t *testing.T, page []byte, width int) measures {
	t.Helper()
	g := NewWithT(t)
	s := serve(t, page, width, 6000)
	dom := browse(t, "--dump-dom", s.URL+"/frame.html")
	found := regexp.MustCompile(`(?s)<pre id="measures">(.*?)</pre>`).FindSubmatch(dom)
	g.Expect(found).To(HaveLen(2), "the browser's page has no measures")
	var m measures
	g.Expect(json.Unmarshal([]byte(html.UnescapeString(string(found[1]))), &m)).To(Succeed(), "%s", found[1])
	s.mutex.Lock()
	defer s.mutex.Unlock()
	g.Expect(s.asked).To(BeEmpty(), "the page asks for nothing")
	return m
}

// screenshot of the page in a frame of some width, kept in GEOSQL_SCREENSHOTS if that is set.
func screenshot(t *testing.T, page []byte, name string, width, height int) image.Image {
	t.Helper()
	g := NewWithT(t)
	folder := os.Getenv("GEOSQL_SCREENSHOTS")
	if folder == "" {
		folder = t.TempDir()
	}
	file := filepath.Join(folder, name)
	browse(
		t,
		"--screenshot="+file,
		fmt.Sprintf("--window-size=%d,%d", max(width, 600), height),
		serve(t, page, width, height).URL+"/frame.html",
	)
	data, err := os.Open(file)
	g.Expect(err).NotTo(HaveOccurred())
	defer data.Close()
	picture, _, err := image.Decode(data)
	g.Expect(err).NotTo(HaveOccurred())
	return picture
}

// coloured counts the pixels of a colour.
func coloured(picture image.Image, want color.RGBA) int {
	n := 0
	for y := picture.Bounds().Min.Y; y < picture.Bounds().Max.Y; y++ {
		for x := picture.Bounds().Min.X; x < picture.Bounds().Max.X; x++ {
			r, g, b, _ := picture.At(x, y).RGBA()
			if uint8(r>>8) == want.R && uint8(g>>8) == want.G && uint8(b>>8) == want.B {
				n++
			}
		}
	}
	return n
}

func TestPageCanBeReadInABrowser(t *testing.T) {
	chromium(t)
	d, a := fixture()
	page, err := report.Render(d, a, report.HTML)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, width := range map[string]int{"phone": 390, "desktop": 1280} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			m := measured(t, page, width)
			g.Expect(m.Title).To(Equal("Passed: drill shop/lose-the-primary, run 2026-11-20"))
			g.Expect(m.Verdict).To(Equal("Passed"))
			g.Expect(m.Width).To(Equal(width))
			g.Expect(m.ScrollWidth).To(BeNumerically("<=", width), "nothing must be scrolled to the side")
			g.Expect(m.Outside).To(BeEmpty())
			g.Expect(m.Overlapping).To(BeEmpty(), "the axes' numbers stand apart")
			g.Expect(m.Smallest).To(BeNumerically(">=", 11), "the smallest letters, in CSS pixels")
			g.Expect(m.Charts).
				To(Equal([]string{"Throughput", "Not acknowledged", "Latency", "Send queue", "Redo queue", "Round trip",
					"Probes lost"}))
			g.Expect(m.ChartWidth).To(BeNumerically(">", 0.7*float64(width)))
			g.Expect(m.Unseen).To(BeEmpty(), "every line is drawn")
			g.Expect(m.Download).To(Equal("data:"))

			picture := screenshot(t, page, name+".png", width, min(m.Height, 8000))
			g.Expect(coloured(picture, color.RGBA{R: 0x1b, G: 0x7a, B: 0x3d})).To(BeNumerically(">", 500), "the verdict's green")
			g.Expect(coloured(picture, color.RGBA{G: 0x72, B: 0xb2})).To(BeNumerically(">", 500), "the primary's blue")
		})
	}
}

// A long drill is drawn as a short one is: its axes can be read, its lines are there, and the page stays one that a
// browser opens at once.
func TestPagesOfLongDrills(t *testing.T) {
	chromium(t)
	for name, c := range map[string]struct{ minutes, every float64 }{
		"2 minutes": {2, 0.1}, "90 minutes": {90, 0.5}, "12 hours": {12 * 60, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, a := lasting(60*c.minutes, c.every)
			began := time.Now()
			page, err := report.Render(d, a, report.HTML)
			g.Expect(err).NotTo(HaveOccurred())
			t.Logf("%d bytes, written in %s", len(page), time.Since(began).Round(time.Millisecond))
			g.Expect(len(page)).To(BeNumerically("<", 6<<20))
			g.Expect(string(page)).NotTo(MatchRegexp(`>-?[0-9.]+e-[0-9]+<`), "an axis begins at 0")
			for _, width := range []int{390, 1280} {
				m := measured(t, page, width)
				g.Expect(m.ScrollWidth).To(BeNumerically("<=", width), "nothing must be scrolled to the side")
				g.Expect(m.Outside).To(BeEmpty())
				g.Expect(m.Overlapping).To(BeEmpty(), "the axes' numbers stand apart")
				g.Expect(m.Charts).To(HaveLen(7))
				g.Expect(m.Unseen).To(BeEmpty(), "every line is drawn")
				screenshot(t, page, fmt.Sprintf("%s-%d.png", name, width), width, min(m.Height, 8000))
			}
		})
	}
}

func TestLargeArchiveIsDownloadedFromThePage(t *testing.T) {
	chromium(t)
	g := NewWithT(t)
	d, a := fixture()
	noise := make([]byte, 3<<20)
	state := uint32(1)
	for i := range noise {
		// What cannot be compressed makes a large archive.
		state = state*1664525 + 1013904223
		noise[i] = byte(state >> 24)
	}
	a.Files = map[string][]byte{"noise": noise}
	page, err := report.Render(d, a, report.HTML)
	g.Expect(err).NotTo(HaveOccurred())
	m := measured(t, page, 1280)
	g.Expect(m.Download).To(Equal("blob:"))
	var bytes int
	_, err = fmt.Sscan(m.Bytes, &bytes)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes).To(BeNumerically(">", len(noise)))
}

func TestPageIsPrinted(t *testing.T) {
	chromium(t)
	g := NewWithT(t)
	d, a := fixture()
	page, err := report.Render(d, a, report.HTML)
	g.Expect(err).NotTo(HaveOccurred())
	folder := os.Getenv("GEOSQL_SCREENSHOTS")
	if folder == "" {
		folder = t.TempDir()
	}
	file := filepath.Join(folder, "print.pdf")
	browse(t, "--no-pdf-header-footer", "--print-to-pdf="+file, serve(t, page, 800, 1000).URL+"/report.html")
	data, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(data[:5])).To(Equal("%PDF-"))
	pages := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(data, -1))
	g.Expect(pages).To(And(BeNumerically(">=", 2), BeNumerically("<=", 8)), "pages of the print")
}
