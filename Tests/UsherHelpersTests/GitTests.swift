import Testing
import UsherHelpers

@Suite("The credential helper of git")
struct GitTests {
  private static let request = "protocol=https\nhost=git.example\n"
  private static let asks = #"{"kind":"git","name":"https://git.example/"}"#

  private static let transcripts: [Transcript] = [
    Transcript(
      "git gets a user name, the token and its expiry", "git-credential-usher get",
      input: request + "\n", asks: asks,
      output: "username=oauth2\npassword=at-1\npassword_expiry_utc=1795341600\n"),
    Transcript(
      "git gets the user name of the target", "/usr/bin/git-credential-usher get",
      input: request, daemon: .token(more: #","username":"x-access-token""#), asks: asks,
      output: "username=x-access-token\npassword=at-1\npassword_expiry_utc=1795341600\n"),
    Transcript(
      "git gets the user name that it asked for if the target has none", "usher-helper git get",
      input: request + "username=eve\n", daemon: .token(expiresAt: "null"), asks: asks,
      output: "username=eve\npassword=at-1\n"),
    Transcript(
      "the path of a repository is a part of the target's name", "git-credential-usher get",
      input: request + "path=team/my app.git\n",
      daemon: .token(expiresAt: "null"),
      asks: #"{"kind":"git","name":"https://git.example/team/my%20app.git"}"#,
      output: "username=oauth2\npassword=at-1\n"),
    Transcript(
      "a question mark in a path does not cut the target's name", "git-credential-usher get",
      input: request + "path=a?b#c%2f\n", daemon: .token(expiresAt: "null"),
      asks: #"{"kind":"git","name":"https://git.example/a%3Fb%23c%252f"}"#,
      output: "username=oauth2\npassword=at-1\n"),
    Transcript(
      "git 2.46 gets a Bearer token if the server asks for one", "git-credential-usher get",
      input: "capability[]=authtype\ncapability[]=state\n\(request)wwwauth[]=Basic realm=\"x\"\n"
        + "wwwauth[]=Bearer realm=\"x\"\n",
      asks: asks,
      output: "capability[]=authtype\nauthtype=Bearer\ncredential=at-1\nephemeral=1\n"
        + "password_expiry_utc=1795341600\n"),
    Transcript(
      "git 2.46 gets a password if the server asks for Basic only", "git-credential-usher get",
      input: "capability[]=authtype\n\(request)wwwauth[]=Basic realm=\"x\"\n",
      daemon: .token(expiresAt: "null"), asks: asks, output: "username=oauth2\npassword=at-1\n"),
    Transcript(
      "git 2.46 gets a password if the target has a user name", "git-credential-usher get",
      input: "capability[]=authtype\n\(request)wwwauth[]=Bearer\n",
      daemon: .token(expiresAt: "null", more: #","username":"u""#), asks: asks,
      output: "username=u\npassword=at-1\n"),
    Transcript(
      "unknown attributes of git are ignored", "git-credential-usher get",
      input: "\(request)later=1\nlater[]=2\npassword_expiry_utc=3\n",
      daemon: .token(expiresAt: "null"), asks: asks, output: "username=oauth2\npassword=at-1\n"),
    Transcript(
      "a token that the server calls invalid is refreshed", "git-credential-usher get",
      input: "\(request)wwwauth[]=Bearer error=\"invalid_token\"\n",
      daemon: .token(expiresAt: "null"),
      asks: #"{"forceRefresh":true,"kind":"git","name":"https://git.example/"}"#,
      output: "username=oauth2\npassword=at-1\n"),
    Transcript(
      "a token that git erases is refreshed and not printed", "git-credential-usher erase",
      input: "\(request)username=oauth2\npassword=at-0\n",
      asks: #"{"forceRefresh":true,"kind":"git","name":"https://git.example/"}"#),
    Transcript(
      "a failed refresh after an erase is silent", "git-credential-usher erase", input: request,
      daemon: .error(-32002, "rate_limited", "too often"),
      asks: #"{"forceRefresh":true,"kind":"git","name":"https://git.example/"}"#),
    Transcript(
      "a dead grant after an erase names the sign-in", "git-credential-usher erase",
      input: request, daemon: .deadGrant,
      asks: #"{"forceRefresh":true,"kind":"git","name":"https://git.example/"}"#,
      message: Line.deadGrant, status: 1),
    Transcript("git stores nothing", "git-credential-usher store", input: request),
    Transcript("an unknown operation is ignored", "git-credential-usher approve", input: request),
    Transcript(
      "capability lists what the helper can do", "git-credential-usher capability",
      output: "version 0\ncapability authtype\n"),
    Transcript(
      "options before the operation are ignored", "git-credential-usher --any get",
      input: request, daemon: .noTarget, asks: asks),
  ]

  @Test("git gets what its contract says", arguments: transcripts)
  func answers(_ transcript: Transcript) throws { try transcript.check() }

  private static let malformedRequests: [Transcript] = [
    ("a CR in the host", "protocol=https\nhost=good.example\r\n"),
    ("a NUL in the host", "protocol=https\nhost=good\0.example\n"),
    ("a second host", "protocol=https\nhost=a.example\nhost=b.example\n"),
    ("a host with a slash", "protocol=https\nhost=a.example/b\n"),
    ("a host with user information", "protocol=https\nhost=a.example@b.example\n"),
    ("a host with a query", "protocol=https\nhost=a.example?b\n"),
    ("no host", "protocol=https\n"),
    ("an empty host", "protocol=https\nhost=\n"),
    ("no protocol", "host=a.example\n"),
    ("a protocol that is none", "protocol=h ttps\nhost=a.example\n"),
    ("a line without an equals sign", "protocol=https\nhost=a.example\nquit\n"),
    (
      "a line of 64 KiB",
      "protocol=https\nhost=a.example\nx=\(String(repeating: "y", count: 65_536))"
    ),
    ("a host of 3 KiB", "protocol=https\nhost=\(String(repeating: "y", count: 3000))\n"),
    ("a blank line before the host", "protocol=https\n\nhost=a.example\n"),
  ].map { name, input in
    Transcript(
      name, "git-credential-usher get", input: input, message: "the request of git is malformed",
      status: 1)
  }

  @Test("a malformed request of git is refused without a call", arguments: malformedRequests)
  func malformed(_ transcript: Transcript) throws { try transcript.check() }

  @Test("a request of git that is not UTF-8 is refused without a call")
  func invalidText() throws {
    var transcript = Transcript(
      "invalid UTF-8", "git-credential-usher get",
      message: "the request of git is malformed", status: 1)
    transcript.input = Array("protocol=https\nhost=a.example\npath=".utf8) + [0xFF]
    try transcript.check()
  }

  @Test("without a target git asks its other helpers and the user")
  func noTarget() throws {
    try Transcript(
      "no target", "git-credential-usher get", input: Self.request, daemon: .noTarget,
      asks: Self.asks
    ).check()
  }

  @Test("git is told to quit only if a sign-in is needed")
  func refused() throws {
    for (index, refusal) in refusals.enumerated() {
      try Transcript(
        refusal.name, "git-credential-usher get", input: Self.request, daemon: refusal.daemon,
        asks: Self.asks, output: index < 2 ? "quit=1\n" : "", message: refusal.line, status: 1
      ).check()
    }
  }
}
