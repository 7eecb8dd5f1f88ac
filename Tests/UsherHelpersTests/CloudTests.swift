import Testing
import UsherHelpers

@Suite("The exec plug-in of kubectl")
struct KubernetesTests {
  private static let api = "client.authentication.k8s.io"

  private static func info(_ version: String = "v1", server: String? = "https://k8s.example:6443")
    -> [String: String]
  {
    let cluster = server.map { #","cluster":{"server":"\#($0)","config":null}"# } ?? ""
    return [
      "KUBERNETES_EXEC_INFO": #"{"kind":"ExecCredential","apiVersion":"\#(api)/\#(version)","#
        + #""spec":{"interactive":false\#(cluster)}}"#
    ]
  }

  private static func output(_ version: String, _ status: String) -> String {
    #"{"apiVersion":"\#(api)/\#(version)","kind":"ExecCredential","status":{\#(status)}}"# + "\n"
  }

  private static let status = #""expirationTimestamp":"2026-11-22T10:00:00Z","token":"id-1""#
  private static let asks = #"{"kind":"kubernetes","name":"https://k8s.example:6443/"}"#

  private static let transcripts: [Transcript] = [
    Transcript(
      "the cluster's server names the target", "usher-helper kubectl", environment: info(),
      daemon: .idToken(), asks: asks, output: output("v1", status)),
    Transcript(
      "the version of the request is repeated", "usher-helper kubectl",
      environment: info("v1beta1"), daemon: .idToken(), asks: asks,
      output: output("v1beta1", status)),
    Transcript(
      "an argument names the target", "usher-helper kubectl prod", environment: info(server: nil),
      daemon: .idToken(), asks: #"{"kind":"kubernetes","name":"prod"}"#,
      output: output("v1", status)),
    Transcript(
      "a person can try the command without the variable", "usher-helper kubectl prod",
      daemon: .token(expiresAt: "null"), asks: #"{"kind":"kubernetes","name":"prod"}"#,
      output: output("v1", #""token":"at-1""#)),
    Transcript(
      "an ID token is preferred to an access token", "usher-helper kubectl prod",
      daemon: .token(expiresAt: "null", more: #","idToken":"id-1""#),
      asks: #"{"kind":"kubernetes","name":"prod"}"#, output: output("v1", #""token":"id-1""#)),
    Transcript(
      "without a cluster kubectl says what to set", "usher-helper kubectl",
      environment: info(server: nil),
      message: "name the cluster as an argument, or set provideClusterInfo: true in kubeconfig",
      status: 1),
    Transcript(
      "a server with a newline is refused", "usher-helper kubectl",
      environment: info(server: #"https://a\nb"#),
      message: "the name of the cluster is malformed", status: 1),
    Transcript(
      "without a target kubectl says for what", "usher-helper kubectl", environment: info(),
      daemon: .noTarget, asks: asks,
      message: Line.noTarget, status: 1),
  ]

  @Test("kubectl gets what its contract says", arguments: transcripts)
  func answers(_ transcript: Transcript) throws { try transcript.check() }

  @Test(
    "an unknown version and a malformed variable are refused without a call",
    arguments: [
      "", "{", "[]", #"{"apiVersion":1}"#, #"{"apiVersion":"client.authentication.k8s.io/v2"}"#,
      String(repeating: "[", count: 5000),
    ])
  func malformed(_ variable: String) throws {
    try Transcript(
      variable, "usher-helper kubectl prod", environment: ["KUBERNETES_EXEC_INFO": variable],
      message: "KUBERNETES_EXEC_INFO has no apiVersion that is known", status: 1
    ).check()
  }

  @Test("kubectl gets no output and a line on standard error if there is no token")
  func refused() throws {
    for refusal in refusals {
      try Transcript(
        refusal.name, "usher-helper kubectl", environment: Self.info(), daemon: refusal.daemon,
        asks: Self.asks, message: refusal.line, status: 1
      ).check()
    }
  }
}

@Suite("The executable source of Google Cloud")
struct GoogleCloudTests {
  private static let audience = "//iam.googleapis.com/projects/1/providers/x"
  private static let variables = [
    "GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE": audience,
    "GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE": "urn:ietf:params:oauth:token-type:id_token",
  ]
  private static let asks = #"{"kind":"gcp","name":"\#(audience)"}"#

  private static func success(_ type: String = "id_token", expiry: String) -> String {
    #"{\#(expiry)"id_token":"id-1","success":true,"#
      + #""token_type":"urn:ietf:params:oauth:token-type:\#(type)","version":1}"# + "\n"
  }

  private static func failure(_ message: String) -> String {
    #"{"code":"401","message":"\#(message)","success":false,"version":1}"# + "\n"
  }

  private static func variables(_ name: String, _ value: String) -> [String: String] {
    variables.merging([name: value]) { $1 }
  }

  private static let transcripts: [Transcript] = [
    Transcript(
      "the audience names the target", "usher-helper gcloud", environment: variables,
      daemon: .idToken(), asks: asks, output: success(expiry: #""expiration_time":1795341600,"#)),
    Transcript(
      "a token may be returned as a JWT", "usher-helper gcloud",
      environment: variables(
        "GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE", "urn:ietf:params:oauth:token-type:jwt"),
      daemon: .token("id-1", expiresAt: "null"), asks: asks, output: success("jwt", expiry: "")),
    Transcript(
      "an argument names the target", "usher-helper gcloud pool", environment: variables,
      daemon: .idToken(), asks: #"{"kind":"gcp","name":"pool"}"#,
      output: success(expiry: #""expiration_time":1795341600,"#)),
    Transcript(
      "SAML is refused", "usher-helper gcloud",
      environment: variables(
        "GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE", "urn:ietf:params:oauth:token-type:saml2"),
      output: failure(
        "subject_token_type must be urn:ietf:params:oauth:token-type:id_token or "
          + "urn:ietf:params:oauth:token-type:jwt")),
    Transcript(
      "the interactive mode is refused", "usher-helper gcloud",
      environment: variables("GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE", "1"),
      output: failure("usher-helper never asks the user; do not use the interactive mode")),
    Transcript(
      "a sign-in is not revoked", "usher-helper gcloud",
      environment: variables("GOOGLE_EXTERNAL_ACCOUNT_REVOKE", "1"),
      output: failure("usherd keeps the sign-in; to end it, run: usherctl account forget ACCOUNT")),
    Transcript(
      "an audience with a newline is refused", "usher-helper gcloud",
      environment: variables("GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE", "a\nb"),
      output: failure("GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE is missing or malformed")),
    Transcript(
      "a missing audience is refused", "usher-helper gcloud",
      output: failure("GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE is missing or malformed")),
    Transcript(
      "without a target the library says for what", "usher-helper gcloud", environment: variables,
      daemon: .noTarget, asks: asks,
      output: failure(Line.noTarget)),
  ]

  @Test("Google's libraries get what their contract says", arguments: transcripts)
  func answers(_ transcript: Transcript) throws { try transcript.check() }

  @Test("the reason for which there is no token is in the output, and nothing on standard error")
  func refused() throws {
    for refusal in refusals {
      try Transcript(
        refusal.name, "usher-helper gcloud", environment: Self.variables, daemon: refusal.daemon,
        asks: Self.asks, output: Self.failure(refusal.line)
      ).check()
    }
  }
}
