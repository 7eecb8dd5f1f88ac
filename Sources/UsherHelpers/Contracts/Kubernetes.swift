import JSONRPC

/// The exec plug-ins of kubectl and other clients of Kubernetes
/// (`client.authentication.k8s.io/v1`, KEP-541).
///
/// Kubernetes wants the ID token. The client keeps it until its expiry, and starts the plug-in
/// again after a 401.
enum Kubernetes: ToolContract {
  private static let kind = "kubernetes"
  static let variables = ["KUBERNETES_EXEC_INFO"]

  static func step(_ call: ToolCall) -> ToolStep {
    guard apiVersion(call) != nil else {
      return .reply(.failed("KUBERNETES_EXEC_INFO has no apiVersion that is known"))
    }
    let server = info(call)?["spec"]?["cluster"]?["server"]?.stringValue
    guard let target = call.arguments.first ?? server, call.arguments.count <= 1 else {
      return .reply(
        .failed("name the cluster as an argument, or set provideClusterInfo: true in kubeconfig"))
    }
    guard let name = RequestedName.url(target) ?? (target.isPlainWord ? target : nil) else {
      return .reply(.failed("the name of the cluster is malformed"))
    }
    return .ask(TokenQuestion(kind, name))
  }

  static func reply(_ call: ToolCall, _ token: IssuedToken) throws(TokenFailure) -> ToolReply {
    var status: JSONValue = ["token": .string(token.identity)]
    if let expiry = token.expiry { status["expirationTimestamp"] = .string(expiry.text) }
    let credential: JSONValue = [
      "apiVersion": .string(apiVersion(call) ?? ""), "kind": "ExecCredential", "status": status,
    ]
    return .printed(String(decoding: credential.encoded(), as: UTF8.self) + "\n")
  }

  /// The version that the client speaks, which the reply repeats; nil if it is not known.
  private static func apiVersion(_ call: ToolCall) -> String? {
    let versions = ["v1", "v1beta1"].map { "client.authentication.k8s.io/\($0)" }
    // Without the variable it is a person who tries the command.
    guard call.environment["KUBERNETES_EXEC_INFO"] != nil else { return versions[0] }
    let version = info(call)?["apiVersion"]?.stringValue
    return versions.first { $0 == version }
  }

  private static func info(_ call: ToolCall) -> JSONValue? {
    guard let text = call.environment["KUBERNETES_EXEC_INFO"], text.utf8.count <= ToolInput.maxBytes
    else { return nil }
    return try? JSONValue(parsing: text, limits: JSONLimits(nesting: 32, values: 16_384))
  }
}
