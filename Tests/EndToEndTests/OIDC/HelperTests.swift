import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// usher-helper with a daemon and a provider: the names that tools send are names that targets
/// match, and the tools can read the replies.
@Suite("Tools that get tokens by usher-helper", .mayBlock, .timeLimit(.minutes(10)))
struct HelperTests {
  private typealias Answer = (status: Int32, output: String, errors: String)

  private static let pools =
    "//iam.googleapis.com/projects/*/locations/global/workloadIdentityPools/*/providers/*"

  private static let targets = [
    target("git", "https://git.example/*"),
    target("docker", "registry.example:5000", #"username = "puller""#),
    target("docker", "docker.io"),
    target("kubernetes", "https://cluster.example:6443", #"field = "idToken""#),
    target("pip", "https://pypi.example/*", #"username = "__token__""#),
    target("cargo", "https://crates.example/*"),
    target("bazel", "https://cache.example/*"),
    target("go", "https://proxy.example/*"),
    target("terraform", "app.example"),
    target("gcp", pools, #"field = "idToken""#),
  ].joined()

  private static func target(_ kind: String, _ match: String, _ more: String = "") -> String {
    """
    [[target]]
    kind = "\(kind)"
    match = "\(match)"
    provider = "demo"
    \(more)

    """
  }

  private func fixture() throws -> OIDCFixture { try OIDCFixture(more: { _ in Self.targets }) }

  /// Replaces the configuration by one that has a rule for this user's programs.
  private func reload(_ fixture: OIDCFixture, allow: String, _ more: String = "") throws {
    try fixture.daemon.reload(
      config: fixture.sandbox.provider() + Self.targets + """
        [[client]]
        name = "helper"
        match = { user = \(getuid()) }
        allow = ["\(allow)"]
        \(more)

        """)
  }

  /// Runs usher-helper by a link with this name, as a tool does.
  private func helper(
    _ fixture: OIDCFixture, _ name: String, _ arguments: [String] = [],
    environment: [String: String] = [:], input: String = ""
  ) throws -> Answer {
    let place = try TemporaryDirectory()
    defer { place.remove() }
    let program = URL(fileURLWithPath: BuiltProduct.path("usher-helper")).path
    try FileManager.default.createSymbolicLink(
      atPath: place.file(name), withDestinationPath: program)
    let own = ["USHER_SOCKET": fixture.daemon.socketPath, "USHER_HELPER_SECONDS": "60"]
    return try run(
      place.file(name), arguments, environment: own.merging(environment) { $1 }, input: input)
  }

  private func git(_ fixture: OIDCFixture, _ lines: String) throws -> Answer {
    try helper(fixture, "git-credential-usher", ["get"], input: "\(lines)\n\n")
  }

  private func kubectl(_ fixture: OIDCFixture, _ server: String) throws -> Answer {
    let info =
      #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","#
      + #""spec":{"interactive":false,"cluster":{"server":"\#(server)"}}}"#
    return try helper(
      fixture, "usher-helper", ["kubectl"], environment: ["KUBERNETES_EXEC_INFO": info])
  }

  private func docker(_ fixture: OIDCFixture, _ server: String) throws -> Answer {
    try helper(fixture, "docker-credential-usher", ["get"], input: server)
  }

  private func pip(_ fixture: OIDCFixture, _ arguments: [String]) throws -> Answer {
    try helper(fixture, "keyring", arguments)
  }

  /// Returns the answers to git, docker, kubectl and pip, which ask for hosts below a domain.
  private func answers(
    _ fixture: OIDCFixture, domain: String = "example"
  ) throws -> (git: Answer, docker: Answer, kubectl: Answer, pip: Answer) {
    (
      try git(fixture, "protocol=https\nhost=git.\(domain)"),
      try docker(fixture, "registry.\(domain):5000"),
      try kubectl(fixture, "https://cluster.\(domain):6443"),
      try pip(
        fixture, ["--mode=creds", "--output=json", "get", "https://pypi.\(domain)/simple/"])
    )
  }

  private func json(_ answer: Answer) throws -> JSONValue {
    try JSONValue(parsing: Array(answer.output.utf8))
  }

  @Test("git, docker, kubectl and pip get the token of their target, each in its own format")
  func tokens() throws {
    let fixture = try fixture()
    try fixture.app.signIn()
    let access = try fixture.token()["accessToken"] ?? .null
    let identity = try fixture.token(["provider": "demo", "field": "idToken"])
    let all = try answers(fixture)
    for answer in [all.git, all.docker, all.kubectl, all.pip] {
      #expect(answer.status == 0 && answer.errors.isEmpty, "\(answer)")
    }
    let secret = access.stringValue ?? "none"
    #expect(
      all.git.output.hasPrefix("username=oauth2\npassword=\(secret)\npassword_expiry_utc="))
    #expect(all.git.output.count(where: { $0 == "\n" }) == 3)
    #expect(
      try json(all.docker) == [
        "ServerURL": "registry.example:5000", "Username": "puller", "Secret": access,
      ])
    #expect(
      try json(all.kubectl) == [
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": [
          "token": identity["idToken"] ?? .null,
          "expirationTimestamp": identity["expiresAt"] ?? .null,
        ],
      ])
    #expect(try json(all.pip) == ["username": "__token__", "password": access])
  }

  @Test("every tool's spelling of a name asks for the target that the documentation shows")
  func spellings() throws {
    let fixture = try fixture()
    try fixture.app.signIn()
    let access = try fixture.token()["accessToken"]?.stringValue ?? "none"
    let identity = try fixture.token(["provider": "demo", "field": "idToken"])["idToken"]
    let crate =
      #"{"v":1,"registry":{"index-url":"sparse+https://crates.example/index/"},"#
      + #""kind":"get","operation":"read"}"#
    let pool = Self.pools.replacing("*", with: "1")
    let answers = [
      try git(fixture, "protocol=https\nhost=git.example\npath=team/my app.git"),
      try git(fixture, "protocol=https\nhost=GIT.example:443\nusername=oauth2"),
      try docker(fixture, "https://registry.example:5000/v2/"),
      try docker(fixture, "https://index.docker.io/v1/"),
      try docker(fixture, "Registry.example:5000\n"),
      try pip(fixture, ["get", "https://pypi.example", "__token__"]),
      try pip(fixture, ["get", "https://__token__:x@pypi.example/simple/", "__token__"]),
      try helper(fixture, "cargo-credential-usher", ["--cargo-plugin"], input: "\(crate)\n"),
      try helper(
        fixture, "bazel-credential-usher", ["get"], input: #"{"uri":"https://cache.example/a?b"}"#),
      try helper(
        fixture, "usher-helper", ["go", "https://proxy.example/mod/@v/list"],
        input: "HTTP/1.1 401 Unauthorized\r\nWww-Authenticate: Basic\r\n\r\n"),
      try helper(fixture, "terraform-credentials-usher", ["get", "app.example"]),
    ]
    for answer in answers {
      #expect(answer.status == 0 && answer.output.contains(access), "\(answer)")
    }
    let identities = [
      try kubectl(fixture, "https://cluster.example:6443/"),
      try kubectl(fixture, "https://CLUSTER.example:6443"),
      try helper(fixture, "usher-helper", ["kubectl", "https://cluster.example:6443"]),
      try helper(
        fixture, "usher-helper", ["gcloud"], environment: ["GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE": pool]
      ),
    ]
    for answer in identities {
      #expect(
        answer.status == 0 && answer.output.contains(identity?.stringValue ?? "none"), "\(answer)")
    }
  }

  @Test("without a sign-in, git quits, and every tool names the command that signs in")
  func noGrant() throws {
    let all = try answers(try fixture())
    for answer in [all.git, all.docker, all.kubectl, all.pip] {
      #expect(answer.status == 1 && answer.errors.contains("; run: usherctl login demo\n"))
    }
    #expect(all.git.output == "quit=1\n")
    #expect(all.docker.output.contains("; run: usherctl login demo\n"))
    #expect(all.kubectl.output.isEmpty && all.pip.output.isEmpty)
  }

  @Test("a rule that does not list the target refuses every tool, and names the missing line")
  func denied() throws {
    let fixture = try fixture()
    try fixture.app.signIn()
    try reload(fixture, allow: "token.forTarget terraform")
    let all = try answers(fixture)
    let places = [
      (all.git, "git/https://git.example/*"), (all.docker, "docker/registry.example:5000"),
      (all.kubectl, "kubernetes/https://cluster.example:6443/*"),
      (all.pip, "pip/https://pypi.example/*"),
    ]
    for (answer, place) in places {
      #expect(answer.status == 1)
      #expect(answer.errors.contains("allow = [\"token.forTarget \(place)\"]\n"), "\(answer)")
    }
    #expect(all.git.output.isEmpty && all.kubectl.output.isEmpty && all.pip.output.isEmpty)
    #expect(all.docker.output.contains("you may not use a target"))
    // The same rule is enough for the tool that it lists.
    #expect(try helper(fixture, "terraform-credentials-usher", ["get", "app.example"]).status == 0)
  }

  @Test(
    "without a target, the tools go on as without credentials, and kubectl says what is missing")
  func noTarget() throws {
    let fixture = try fixture()
    try fixture.app.signIn()
    let all = try answers(fixture, domain: "other.example")
    #expect(all.git.status == 0 && all.docker.status == 1 && all.pip.status == 1)
    #expect(all.git.output.isEmpty && all.pip.output.isEmpty)
    #expect(all.docker.output == "credentials not found in native keychain\n")
    for answer in [all.git, all.docker, all.pip] { #expect(answer.errors.isEmpty) }
    #expect(all.kubectl.status == 1 && all.kubectl.output.isEmpty)
    #expect(
      all.kubectl.errors.contains("no target answers kubernetes/https://cluster.other.example:6443")
    )
  }

  @Test("without a daemon, every tool fails at once with the command that starts it")
  func down() throws {
    let fixture = try fixture()
    try fixture.daemon.stop()
    let all = try answers(fixture)
    for answer in [all.git, all.docker, all.kubectl, all.pip] {
      #expect(answer.status == 1)
      #expect(answer.errors.contains("; to start usherd, run: systemctl start usherd.socket\n"))
    }
    #expect(all.git.output.isEmpty && all.kubectl.output.isEmpty && all.pip.output.isEmpty)
  }

  @Test("a call that a person must approve names the command, after which the tool gets the token")
  func confirmed() throws {
    let fixture = try fixture()
    try fixture.app.signIn()
    try reload(fixture, allow: "token.forTarget git", "confirm = true")
    let asked = try answers(fixture).git
    #expect(asked.status == 1 && asked.output.isEmpty)
    let command = asked.errors.firstMatch(of: /; run: usherctl confirm allow (\S+)\n/)
    let question = try #require(command.map { String($0.1) })
    _ = try fixture.daemon.admin().call(
      "confirm.answer", ["confirmation": .string(question), "allow": true, "remember": "once"])
    #expect(try answers(fixture).git.output.hasPrefix("username=oauth2\npassword="))
    #expect(try answers(fixture).git.output.isEmpty)
  }
}
