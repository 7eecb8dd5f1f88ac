import Testing
import UsherHelpers

@Suite("The credentials helper of Terraform")
struct TerraformTests {
  private static let asks = #"{"kind":"terraform","name":"app.example:8443"}"#

  private static let transcripts: [Transcript] = [
    Transcript(
      "Terraform gets the token of a host", "terraform-credentials-usher get App.example:8443",
      asks: asks, output: #"{"token":"at-1"}"# + "\n"),
    Transcript(
      "arguments of the configuration are ignored",
      "terraform-credentials-usher --any get app.example:8443", daemon: .noTarget, asks: asks,
      output: "{}\n"),
    Transcript(
      "Terraform stores no token", "terraform-credentials-usher store app.example",
      input: #"{"token":"t"}"#,
      message: "usherd stores no passwords; to sign in, run: usherctl login PROVIDER", status: 1),
    Transcript(
      "Terraform forgets no sign-in", "terraform-credentials-usher forget app.example",
      message: "usherd keeps the sign-in; to end it, run: usherctl account forget ACCOUNT",
      status: 1),
    Transcript(
      "another command is refused", "terraform-credentials-usher list app.example",
      message: "usage: terraform-credentials-usher get|store|forget HOST", status: 1),
    Transcript(
      "a call without a host is refused", "terraform-credentials-usher get",
      message: "usage: terraform-credentials-usher get|store|forget HOST", status: 1),
    Transcript(
      "a host with a slash is refused", "terraform-credentials-usher get a.example/b",
      message: "the host is malformed", status: 1),
  ]

  @Test("Terraform gets what its contract says", arguments: transcripts)
  func answers(_ transcript: Transcript) throws { try transcript.check() }

  @Test("Terraform fails with a line on standard error if there is no token")
  func refused() throws {
    for refusal in refusals {
      try Transcript(
        refusal.name, "terraform-credentials-usher get app.example:8443", daemon: refusal.daemon,
        asks: Self.asks, message: refusal.line, status: 1
      ).check()
    }
  }
}

@Suite("The command keyring for pip and uv")
struct KeyringTests {
  private static let url = "https://pypi.example/simple/"
  private static let asks = #"{"kind":"pip","name":"\#(url)"}"#

  private static let transcripts: [Transcript] = [
    Transcript(
      "pip 23.1 gets the password of a user", "keyring get \(url) eve", asks: asks,
      output: "at-1\n"),
    Transcript(
      "newer pip gets user name and password as JSON",
      "/usr/lib/usher-helper/keyring --mode=creds --output=json get \(url)", asks: asks,
      output: #"{"password":"at-1","username":"oauth2"}"# + "\n"),
    Transcript(
      "newer pip gets the user name that it asks for",
      "keyring --mode=creds --output=json get \(url) eve", asks: asks,
      output: #"{"password":"at-1","username":"eve"}"# + "\n"),
    Transcript(
      "uv gets user name and password in two lines", "keyring get \(url) --mode creds",
      daemon: .token(more: #","username":"__token__""#), asks: asks, output: "__token__\nat-1\n"),
    Transcript(
      "the user name of the target must be the one that is asked for", "keyring get \(url) eve",
      daemon: .token(more: #","username":"__token__""#), asks: asks,
      message: #"the target has the user name "__token__", not "eve""#, status: 1),
    Transcript(
      "user information in the URL is not sent",
      "keyring get https://eve:p@pypi.example/simple/ eve", daemon: .noTarget, asks: asks,
      status: 1),
    Transcript(
      "a host without a scheme has no password", "keyring get pypi.example eve", status: 1),
    Transcript(
      "without a target there is no password", "keyring get \(url) eve", daemon: .noTarget,
      asks: asks, status: 1),
    Transcript(
      "keyring stores no password", "keyring set \(url) eve", input: "p",
      message: "usherd stores no passwords; to sign in, run: usherctl login PROVIDER", status: 1),
    Transcript(
      "keyring deletes no sign-in", "keyring del \(url) eve",
      message: "usherd keeps the sign-in; to end it, run: usherctl account forget ACCOUNT",
      status: 1),
    Transcript(
      "a URL without a host is refused", "keyring get https:///a eve",
      message: "the URL of the service is malformed", status: 1),
  ]

  @Test("pip and uv get what keyring prints", arguments: transcripts)
  func answers(_ transcript: Transcript) throws { try transcript.check() }

  @Test(
    "other arguments of keyring are refused with status 2",
    arguments: [
      "", "get", "list \(url)", "get \(url) eve more", "--mode", "--mode=all get \(url)",
      "-b x get \(url)", "get \(url) a\nb",
    ])
  func usage(_ arguments: String) throws {
    try Transcript(
      arguments, arguments.isEmpty ? "keyring" : "keyring \(arguments)",
      message: "usage: keyring [--mode password|creds] [--output plain|json] get SERVICE [USER]",
      status: 2
    ).check()
  }

  @Test("keyring fails with a line on standard error if there is no token")
  func refused() throws {
    for refusal in refusals {
      try Transcript(
        refusal.name, "keyring get \(Self.url) eve", daemon: refusal.daemon, asks: Self.asks,
        message: refusal.line, status: 1
      ).check()
    }
  }
}

@Suite("An entry of netrc")
struct NetrcTests {
  private static let asks = #"{"kind":"netrc","name":"api.example:8443"}"#
  private static let characters = "netrc cannot have the characters of the user name or token"

  private static let transcripts: [Transcript] = [
    Transcript(
      "a pipe gets one entry", "usher-helper netrc api.example:8443", asks: asks,
      output: "machine api.example login oauth2 password at-1\n"),
    Transcript(
      "an entry has the user name of the target", "usher-helper netrc api.example:8443",
      daemon: .token(more: #","username":"u""#), asks: asks,
      output: "machine api.example login u password at-1\n"),
    Transcript(
      "a file or terminal gets no entry, and usherd is not called",
      "usher-helper netrc api.example", isOutputPipe: false,
      message: "an entry of netrc is written only to a pipe, not to a file or terminal", status: 1),
    Transcript(
      "a token with a space is not written", "usher-helper netrc api.example:8443",
      daemon: .token("a machine"), asks: asks, message: characters, status: 1),
    Transcript(
      "a user name with a quote is not written", "usher-helper netrc api.example:8443",
      daemon: .token(more: #","username":"u\"""#), asks: asks, message: characters, status: 1),
    Transcript(
      "without a target there is an error", "usher-helper netrc api.example:8443",
      daemon: .noTarget, asks: asks,
      message: Line.noTarget, status: 1),
    Transcript(
      "a call without a host is refused", "usher-helper netrc",
      message: "usage: usher-helper netrc HOST", status: 1),
    Transcript(
      "a URL is refused", "usher-helper netrc https://api.example/",
      message: "usage: usher-helper netrc HOST", status: 1),
    Transcript(
      "a port without a host is refused", "usher-helper netrc :8443",
      message: "usage: usher-helper netrc HOST", status: 1),
    Transcript(
      "a colon is refused", "usher-helper netrc :",
      message: "usage: usher-helper netrc HOST", status: 1),
    Transcript(
      "an IPv6 address is refused, because its colons end the host of an entry",
      "usher-helper netrc [::1]:8443", message: "usage: usher-helper netrc HOST", status: 1),
  ]

  @Test("a reader of netrc gets one entry by a pipe", arguments: transcripts)
  func answers(_ transcript: Transcript) throws { try transcript.check() }

  @Test("netrc fails with a line on standard error if there is no token")
  func refused() throws {
    for refusal in refusals {
      try Transcript(
        refusal.name, "usher-helper netrc api.example:8443", daemon: refusal.daemon,
        asks: Self.asks, message: refusal.line, status: 1
      ).check()
    }
  }
}
