import Testing

@testable import usher_bench

@Suite("The HTTP client of usher-bench")
struct LoopbackWebTests {
  @Test("usher-bench parses an HTTP response into status, case-insensitive headers and body")
  func reply() throws {
    let text =
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/x?a=b:c\r\nX:\r\n\r\nbody\r\n\r\n"
    let reply = try LoopbackWeb.reply(in: Array(text.utf8))
    #expect(reply.status == 302)
    #expect(reply.headers["location"] == "http://127.0.0.1:1/x?a=b:c")
    #expect(reply.headers["x"] == "")
    #expect(reply.body == "body\r\n\r\n")
  }

  @Test(
    "usher-bench refuses a response that is not HTTP",
    arguments: ["", "HTTP/1.1 200 OK\r\n", "\r\n\r\n", "x\r\n\r\n"])
  func noReply(_ text: String) {
    #expect(throws: BenchError.self) { try LoopbackWeb.reply(in: Array(text.utf8)) }
  }

  @Test("usher-bench refuses a request to another address than 127.0.0.1")
  func elsewhere() {
    for url in ["http://example.com:80/", "https://127.0.0.1:1/", "http://127.0.0.1:x/", "x"] {
      #expect(throws: BenchError.self) { try LoopbackWeb.get(url) }
    }
  }

  @Test("usher-bench percent-encodes the values of a form byte by byte")
  func escaping() {
    #expect("aZ9-._~".percentEncoded == "aZ9-._~")
    #expect("a b&c=\u{E9}\n".percentEncoded == "a%20b%26c%3D%C3%A9%0A")
  }

  @Test("usher-bench refuses a page without the form fields of the sandbox")
  func form() throws {
    let page = #"<input name="csrf" value="c1"><input name="transaction" value="t1">"#
    #expect(try SandboxProvider.hidden(in: page) == ["csrf": "c1", "transaction": "t1"])
    #expect(throws: BenchError.self) { try SandboxProvider.hidden(in: "<p>no</p>") }
  }
}
