// Beside test/integration/framework/capstan_program.go: a capstan process, with its output in a file
package framework

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

var (
	folder   = os.Getenv("SUITE_OUT")
	programs int
)

type program struct {
	cmd    *exec.Cmd
	output string
	done   chan struct{}
	wanted atomic.Bool // its end is
}

func nextName() string {
	programs++
	return fmt.Sprintf("capstan-%03d", programs)
}

func startProgram(name string, args []string) *program {
	ginkgo.GinkgoHelper()
	p := &program{output: filepath.Join(folder, name+".log"), done: make(chan struct{})}
	out, err := os.Create(p.output)
	must(err)
	p.cmd = exec.Command(os.Getenv("CAPSTAN"), args...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(p.cmd.Start())
	go func() {
		err := p.cmd.Wait()
		if !p.wanted.Load() {
			fmt.Fprintf(out, "\nended by itself: %v\n", err)
			_ = os.WriteFile(p.output+".ended", fmt.Appendf(nil, "%v\n", err), 0o644)
		}
		out.Close()
		close(p.done)
	}()
	return p
}

func (p *program) awaitLog(text string) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func() []byte {
		output, _ := os.ReadFile(p.output)
		return output
	}, 20*time.Second, 50*time.Millisecond).Should(gomega.ContainSubstring(text))
}

func (p *program) end() {
	p.wanted.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(5 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// startUp starts `capstan up`, the API server in the place of envtest's, and says where it is.
func startUp() (*program, string) {
	ginkgo.GinkgoHelper()
	data := filepath.Join(folder, "up")
	p := startProgram(nextName(), []string{"up", "--strict-kueue", "--nodes", "1:cpu", "--data-dir", data, "--listen", "127.0.0.1:0"})
	var host string
	gomega.Eventually(func(g gomega.Gomega) {
		text, err := os.ReadFile(filepath.Join(data, "kubeconfig"))
		g.Expect(err).NotTo(gomega.HaveOccurred())
		_, rest, _ := bytes.Cut(text, []byte("server:"))
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		host = strings.Trim(string(line), ` "`)
		response, err := http.Get(host + "/readyz")
		g.Expect(err).NotTo(gomega.HaveOccurred())
		response.Body.Close()
		g.Expect(response.StatusCode).To(gomega.Equal(http.StatusOK))
	}, 20*time.Second, 100*time.Millisecond).Should(gomega.Succeed())
	return p, host
}

func freeAddress() string {
	ginkgo.GinkgoHelper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	defer l.Close()
	return l.Addr().String()
}

func awaitListener(host string, port int) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func() error {
		c, err := net.Dial("tcp", net.JoinHostPort(host, fmt.Sprint(port)))
		if err == nil {
			c.Close()
		}
		return err
	}, 10*time.Second, 100*time.Millisecond).Should(gomega.Succeed())
}
