import Testing
import UsherHelpers

@Suite("The credential helper of docker")
struct DockerTests {
  private static func output(_ server: String, _ username: String = "oauth2") -> String {
    #"{"Secret":"at-1","ServerURL":"\#(server)","Username":"\#(username)"}"# + "\n"
  }

  private static func asks(_ name: String) -> String { #"{"kind":"docker","name":"\#(name)"}"# }

  private static let registries = [
    ("ghcr.io", "ghcr.io"), ("https://ghcr.io", "ghcr.io"), ("https://ghcr.io/", "ghcr.io"),
    ("https://index.docker.io/v1/", "docker.io"), ("index.docker.io", "docker.io"),
    ("registry-1.docker.io", "docker.io"), ("docker.io", "docker.io"),
    ("localhost:5000", "localhost:5000"), ("http://localhost:5000/v2/", "localhost:5000"),
    ("http://127.0.0.1/", "127.0.0.1"), ("http://[::1]:5000/", "[::1]:5000"),
    ("GHCR.io", "ghcr.io"), ("quay.io/team", "quay.io/team"),
  ]

  @Test("each spelling of a registry asks for the same target", arguments: registries)
  func registry(_ server: String, _ name: String) throws {
    try Transcript(
      server, "docker-credential-usher get", input: server, asks: Self.asks(name),
      output: Self.output(server)
    ).check()
  }

  private static let transcripts: [Transcript] = [
    Transcript(
      "the server's URL is repeated without white space", "docker-credential-usher get",
      input: " ghcr.io\r\n", daemon: .token(more: #","username":"u""#), asks: asks("ghcr.io"),
      output: output("ghcr.io", "u")),
    Transcript(
      "a user name that marks a refresh token is not printed", "docker-credential-usher get",
      input: "ghcr.io", daemon: .token(more: #","username":"<token>""#), asks: asks("ghcr.io"),
      output: "the user name <token> is reserved\n", message: "the user name <token> is reserved",
      status: 1),
    Transcript("docker lists no registries", "docker-credential-usher list", output: "{}\n"),
    Transcript(
      "docker gets the version", "docker-credential-usher version",
      output: "docker-credential-usher (usherd) \(HelperVersion.current)\n"),
    Transcript(
      "docker stores no password", "docker-credential-usher store",
      input: #"{"ServerURL":"s","Username":"u","Secret":"p"}"#,
      output: "usherd stores no passwords; to sign in, run: usherctl login PROVIDER\n", status: 1),
    Transcript(
      "docker deletes no sign-in", "docker-credential-usher erase", input: "ghcr.io",
      output: "usherd keeps the sign-in; to end it, run: usherctl account forget ACCOUNT\n",
      status: 1),
    Transcript(
      "an empty server URL has the error of the contract", "docker-credential-usher get",
      input: " \n", output: "no credentials server URL\n", status: 1),
    Transcript(
      "an unknown action is refused", "docker-credential-usher login",
      output: "Unknown credential action `login`\n", status: 1),
    Transcript(
      "a call without an action prints the usage", "docker-credential-usher",
      output: "Usage: docker-credential-usher <store|get|erase|list|version>\n", status: 1),
    Transcript(
      "without a target docker goes on without credentials", "docker-credential-usher get",
      input: "ghcr.io", daemon: .noTarget, asks: asks("ghcr.io"),
      output: "credentials not found in native keychain\n", status: 1),
  ]

  @Test("docker gets what its contract says", arguments: transcripts)
  func others(_ transcript: Transcript) throws { try transcript.check() }

  private static let malformedServers = [
    "ghcr.io\nquay.io", "ghcr.io\0", "gh cr.io", "ftp://ghcr.io", "gh\\cr.io", "https://",
    "ü.example",
    String(repeating: "a", count: 3000),
  ]

  @Test("a malformed server URL is refused without a call", arguments: malformedServers)
  func malformed(_ server: String) throws {
    try Transcript(
      server, "docker-credential-usher get", input: server,
      output: "the server URL is malformed\n", status: 1
    ).check()
  }

  @Test(
    "a registry without TLS gets no token, unless it is on this machine",
    arguments: ["http://ghcr.io", "http://localhost.evil:5000", "http://127.0.0.1.evil/v2/"])
  func cleartext(_ server: String) throws {
    try Transcript(
      server, "docker-credential-usher get", input: server,
      output: "credentials not found in native keychain\n", status: 1
    ).check()
  }

  @Test("docker shows why there is no token")
  func refused() throws {
    for refusal in refusals {
      try Transcript(
        refusal.name, "docker-credential-usher get", input: "ghcr.io", daemon: refusal.daemon,
        asks: Self.asks("ghcr.io"), output: refusal.line + "\n", message: refusal.line, status: 1
      ).check()
    }
  }
}
