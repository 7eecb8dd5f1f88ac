import FoundationEssentials
import Testing
import UsherConfig

@Suite("Paths of a provider's API")
struct ProviderPathTests {
  private let base = "https://api.example.com/v1"

  private func url(_ path: String, _ value: String, as name: String = "eventId") throws -> String {
    try ProviderPath(setting: path).url(under: ProviderURL(setting: base), name, value)
  }

  @Test("a provider path is appended to the base URL; a full URL replaces the base URL")
  func whole() throws {
    #expect(
      try url("/events/{eventId}/attempts", "e-1")
        == "https://api.example.com/v1/events/e-1/attempts")
    #expect(
      try url("https://sca.example.com:8443/{eventId}", "e-1") == "https://sca.example.com:8443/e-1"
    )
    #expect(try url("http://127.0.0.1:1/{eventId}", "e-1") == "http://127.0.0.1:1/e-1")
    #expect(try url("/token", "e-1") == "https://api.example.com/v1/token")
    #expect(try url("/", "e-1") == "https://api.example.com/v1/")
  }

  @Test("a provider path fills only the placeholder of the given name")
  func otherName() throws {
    #expect(
      try url("/brands/{brandIdentity}", "e-1")
        == "https://api.example.com/v1/brands/{brandIdentity}")
    #expect(
      try url("/brands/{brandIdentity}/token", "acme", as: "brandIdentity")
        == "https://api.example.com/v1/brands/acme/token")
    #expect(
      try url("/events/{eventId}", "{eventId}") == "https://api.example.com/v1/events/%7BeventId%7D"
    )
  }

  @Test(
    "a value filled into a provider path is percent-encoded and stays one segment",
    arguments: [
      ("e-1", "e-1"), ("A_z.0~9-", "A_z.0~9-"), ("a/b", "a%2Fb"), ("/", "%2F"),
      ("../../token", "..%2F..%2Ftoken"), ("a\\b", "a%5Cb"), ("a?b=c", "a%3Fb%3Dc"),
      ("a#b", "a%23b"), ("a%2Fb", "a%252Fb"), ("%", "%25"), ("a b", "a%20b"), ("a+b", "a%2Bb"),
      ("a;b=c,d", "a%3Bb%3Dc%2Cd"), ("user@host:1", "user%40host%3A1"), ("a&b'\"", "a%26b%27%22"),
      ("ü", "%C3%BC"), ("u\u{308}", "u%CC%88"), ("🔑", "%F0%9F%94%91"), ("\r\n", "%0D%0A"),
      ("\0", "%00"), ("\u{7F}", "%7F"), (".", "%2E"), ("..", "%2E%2E"), ("...", "%2E%2E%2E"),
      (".a", ".a"), ("a..", "a.."), ("", ""),
    ])
  func segment(value: String, encoded: String) throws {
    #expect(
      try url("/events/{eventId}/attempts", value)
        == "https://api.example.com/v1/events/\(encoded)/attempts")
  }

  @Test(
    "a provider path keeps its text in settings and in JSON",
    arguments: [
      "/", "/token", "/auth/brands/{brandIdentity}/token", "/a-b_c.d~e/%20", "/a//b",
      "https://id.example.com", "https://id.example.com/t/{brandIdentity}",
      "http://127.0.0.1:4600/{eventId}", "http://[::1]:4600/x",
    ])
  func text(path: String) throws {
    let read = try ProviderPath(setting: path)
    #expect(read.settingText == path)
    let json = try JSONEncoder().encode([read])
    #expect(try JSONDecoder().decode([ProviderPath].self, from: json) == [read])
  }

  private static let notURL =
    "is not a URL: empty, too long or with characters a URL cannot have"
  private static let notAbsolute = "must be an absolute http or https URL"
  private static let insecure = "must be https; http is for loopback hosts only"
  private static let long = "/" + String(repeating: "a", count: 2048)
  private static let host = "may have braces in its path only"

  @Test(
    "a malformed provider path is refused with the reason",
    arguments: [
      ("", notURL), ("token", notAbsolute), ("{eventId}", notAbsolute),
      ("{eventId}/x", notAbsolute), ("//id.example.com/token", notAbsolute),
      ("ftp://id.example.com/", notAbsolute), ("javascript:alert(1)", notAbsolute),
      ("http://id.example.com/token", insecure), ("http://127.0.0.1.example.com/", insecure),
      ("/token?brand={brandIdentity}", "must have no query"),
      ("https://id.example.com/token?", "must have no query"),
      ("/token#x", "must have no fragment"),
      ("https://a:b@id.example.com/", "must have no user name or password"),
      ("https://:443/token", "has no valid host and port"), ("/a b", notURL), ("/ä", notURL),
      ("/{\u{301}eventId}", notURL), ("/a\\b", notURL), ("/a\u{1}", notURL), ("/<x>", notURL),
      (long, notURL),
      ("https://{eventId}.example.com/x", host), ("https://id.example.com{eventId}/x", host),
      ("https://id.example.com:{eventId}443/x", "has no valid host and port"),
      ("https://id.example.com:4{}43/x", host), ("ht{}tps://id.example.com/x", host),
      ("https:/{}/id.example.com/x", host), ("http://127.0.0.1{.example.com/x", insecure),
      ("http://127.0.0{}.1/x", host),
    ] as [(String, String)])
  func refusals(path: String, problem: String) {
    #expect(throws: SettingError(problem)) { try ProviderPath(setting: path) }
  }
}
