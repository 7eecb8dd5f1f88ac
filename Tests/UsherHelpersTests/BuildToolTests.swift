import Testing
import UsherHelpers

@Suite("The credential helper of Bazel")
struct BazelTests {
  private static let input = #"{"uri":"https://cache.example/a?b"}"#
  private static let asks = #"{"kind":"bazel","name":"https://cache.example/a"}"#

  private static func output(_ header: String, expires: String = "") -> String {
    #"{\#(expires)"headers":{"Authorization":["\#(header)"]}}"# + "\n"
  }

  private static let transcripts: [Transcript] = [
    Transcript(
      "Bazel gets a header and its expiry", "bazel-credential-usher get", input: input, asks: asks,
      output: output("Bearer at-1", expires: #""expires":"2026-11-22T10:00:00Z","#)),
    Transcript(
      "Bazel gets a Basic header if the target has a user name", "bazel-credential-usher get",
      input: input, daemon: .token(expiresAt: "null", more: #","username":"u""#), asks: asks,
      output: output("Basic dTphdC0x")),
    Transcript(
      "a user name with a colon cannot be in a header", "bazel-credential-usher get", input: input,
      daemon: .token(more: #","username":"u:v""#), asks: asks,
      message: "the user name has a colon", status: 1),
    Transcript(
      "a token with a space cannot be in a header", "bazel-credential-usher get", input: input,
      daemon: .token("a b"), asks: asks,
      message: "the token has characters that a header cannot have", status: 1),
    Transcript(
      "a token of another type cannot be in a header", "bazel-credential-usher get", input: input,
      daemon: .token(type: "mac"), asks: asks, message: "the token is no Bearer token", status: 1),
    Transcript(
      "without a target Bazel goes on without credentials", "bazel-credential-usher get",
      input: input, daemon: .noTarget, asks: asks, output: #"{"headers":{}}"# + "\n"),
    Transcript(
      "another command is refused", "bazel-credential-usher put", input: input,
      message: "usage: bazel-credential-usher get", status: 1),
  ]

  @Test("Bazel gets what its contract says", arguments: transcripts)
  func answers(_ transcript: Transcript) throws { try transcript.check() }

  @Test(
    "a malformed request of Bazel is refused without a call",
    arguments: [
      "", "{", "[]", #"{"uri":1}"#, #"{"uri":"cache.example"}"#, #"{"uri":"https://a\nb/"}"#,
      #"{"uri":"https://a/","uri":"https://b/"}"#, #"{"uri":"https:///a"}"#,
      String(repeating: "[", count: 100_000),
    ])
  func malformed(_ input: String) throws {
    try Transcript(
      input, "bazel-credential-usher get", input: input,
      message: "the request has no valid uri", status: 1
    ).check()
  }

  @Test("Bazel fails with a line on standard error if there is no token")
  func refused() throws {
    for refusal in refusals {
      try Transcript(
        refusal.name, "bazel-credential-usher get", input: Self.input, daemon: refusal.daemon,
        asks: Self.asks, message: refusal.line, status: 1
      ).check()
    }
  }
}

@Suite("The credential provider of cargo")
struct CargoTests {
  private static func input(
    _ index: String = "sparse+https://crates.example/index/", kind: String = "get",
    headers: String = ""
  ) -> String {
    #"{"v":1,"registry":{"index-url":"\#(index)","name":"r"\#(headers)},"kind":"\#(kind)","#
      + #""operation":"read","args":[]}"#
  }

  private static let asks = #"{"kind":"cargo","name":"https://crates.example/index/"}"#

  private static func found(_ token: String, _ cache: String) -> String {
    #"{"Ok":{\#(cache),"kind":"get","operation_independent":true,"token":"\#(token)"}}"# + "\n"
  }

  private static func other(_ message: String) -> String {
    #"{"Err":{"caused-by":[],"kind":"other","message":"\#(message)"}}"# + "\n"
  }

  private static let expires = #""cache":"expires","expiration":1795341600"#

  private static let transcripts: [Transcript] = [
    Transcript(
      "cargo gets the value of the header and its expiry", "cargo-credential-usher --cargo-plugin",
      input: input(), asks: asks, output: found("Bearer at-1", expires)),
    Transcript(
      "a token without an expiry is good for the call of cargo", "usher-helper cargo",
      input: input("registry+https://crates.example/index/"), daemon: .token(expiresAt: "null"),
      asks: asks, output: found("Bearer at-1", #""cache":"session""#)),
    Transcript(
      "a token that is no Bearer token is the whole header", "usher-helper cargo", input: input(),
      daemon: .token(type: "secret"), asks: asks, output: found("at-1", expires)),
    Transcript(
      "a token that the registry calls invalid is refreshed", "usher-helper cargo",
      input: input(
        headers: #","headers":["WWW-Authenticate: Bearer error=\"invalid_token\""]"#),
      asks: #"{"forceRefresh":true,"kind":"cargo","name":"https://crates.example/index/"}"#,
      output: found("Bearer at-1", expires)),
    Transcript(
      "without a target cargo tries its next provider", "usher-helper cargo", input: input(),
      daemon: .noTarget, asks: asks, output: #"{"Err":{"kind":"not-found"}}"# + "\n"),
    Transcript(
      "cargo cannot sign in", "usher-helper cargo", input: input(kind: "login"),
      output: #"{"Err":{"kind":"operation-not-supported"}}"# + "\n"),
    Transcript(
      "cargo cannot sign out", "usher-helper cargo", input: input(kind: "logout"),
      output: #"{"Err":{"kind":"operation-not-supported"}}"# + "\n"),
    Transcript(
      "an index that is no URL is left to other providers", "usher-helper cargo",
      input: input("/srv/index"), output: #"{"Err":{"kind":"url-not-supported"}}"# + "\n"),
    Transcript(
      "a password in the index's URL is not sent", "usher-helper cargo",
      input: input("https://u:p@crates.example/index/"), daemon: .noTarget, asks: asks,
      output: #"{"Err":{"kind":"not-found"}}"# + "\n"),
  ]

  @Test("cargo gets what its protocol says", arguments: transcripts)
  func answers(_ transcript: Transcript) throws { try transcript.check() }

  @Test(
    "a malformed request of cargo is refused without a call",
    arguments: ["", "{", #"{"v":2}"#, #"{"v":1,"kind":"get"}"#, #"{"v":1,"registry":[]}"#])
  func malformed(_ input: String) throws {
    try Transcript(
      input, "usher-helper cargo", input: input,
      output: Self.other("the request of cargo is malformed")
    ).check()
  }

  @Test("cargo shows why there is no token, and no other provider is asked")
  func refused() throws {
    for refusal in refusals {
      try Transcript(
        refusal.name, "usher-helper cargo", input: Self.input(), daemon: refusal.daemon,
        asks: Self.asks, output: Self.other(refusal.line)
      ).check()
    }
  }

  @Test("cargo reads the version of the protocol before its request is read")
  func greeting() throws {
    let (tool, arguments) = try #require(Tool.find(["cargo-credential-usher", "--cargo-plugin"]))
    #expect(tool.contract.greeting == "{\"v\":[1]}\n")
    #expect(tool.contract.input(arguments) == .lines)
  }
}

@Suite("The GOAUTH command of go")
struct GoTests {
  private static let url = "https://proxy.example/team/m/@v/list"
  private static let asks = #"{"kind":"go","name":"\#(url)"}"#
  private static let unauthorized = "HTTP/1.1 401 Unauthorized\nWww-Authenticate: Bearer"

  private static func reply(_ match: String) -> Daemon {
    .result(#""accessToken":"at-1","tokenType":"Bearer","match":"\#(match)""#)
  }

  private static let transcripts: [Transcript] = [
    Transcript("go gets nothing before it names a URL", "usher-helper go"),
    Transcript(
      "the token is for all URLs below the target's pattern", "usher-helper go \(url)",
      daemon: reply("https://proxy.example/team/*"), asks: asks,
      output: "https://proxy.example/team\n\nAuthorization: Bearer at-1\n\n"),
    Transcript(
      "the token is for the module if the pattern has more stars", "usher-helper go \(url)",
      daemon: reply("https://*.example/*"), asks: asks,
      output: "https://proxy.example/team/m\n\nAuthorization: Bearer at-1\n\n"),
    Transcript(
      "the token is for the module if the pattern is of another host", "usher-helper go \(url)",
      daemon: reply("https://proxy.exam/*"), asks: asks,
      output: "https://proxy.example/team/m\n\nAuthorization: Bearer at-1\n\n"),
    Transcript(
      "the token is for the URL itself if it is of no module",
      "usher-helper go https://host.example/x?go-get=1", daemon: reply("https://*.example/*"),
      asks: #"{"kind":"go","name":"https://host.example/x"}"#,
      output: "https://host.example/x\n\nAuthorization: Bearer at-1\n\n"),
    Transcript(
      "a refused request does not refresh the token by itself", "usher-helper go \(url)",
      input: unauthorized + "\n\n", daemon: .noTarget, asks: asks),
    Transcript(
      "a token that the server calls invalid is refreshed", "usher-helper go \(url)",
      input: unauthorized + " error=\"invalid_token\"\n\n", daemon: .noTarget,
      asks: #"{"forceRefresh":true,"kind":"go","name":"\#(url)"}"#),
    Transcript(
      "an unencrypted URL is refused", "usher-helper go http://proxy.example/",
      message: "the URL is malformed, or not one with https", status: 1),
    Transcript(
      "a URL with a newline is refused", "usher-helper go https://proxy.example/a\n",
      message: "the URL is malformed, or not one with https", status: 1),
  ]

  @Test("go gets what GOAUTH says", arguments: transcripts)
  func answers(_ transcript: Transcript) throws { try transcript.check() }

  @Test("go gets no output and a line on standard error if there is no token")
  func refused() throws {
    for refusal in refusals {
      try Transcript(
        refusal.name, "usher-helper go \(Self.url)", daemon: refusal.daemon, asks: Self.asks,
        message: refusal.line, status: 1
      ).check()
    }
  }
}
