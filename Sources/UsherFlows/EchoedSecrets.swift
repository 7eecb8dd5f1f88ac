import FoundationEssentials
import JSONRPC
import UsherAPI
import UsherCore

extension HTTPReply {
  /// What stands where a refusal repeated a secret of the request.
  package static let echo = "…"

  /// A refusal without the secrets of the request it refuses.
  ///
  /// Some providers write the code or refresh token they do not like into `error_description`, and
  /// that text is shown to people and logged. Values shorter than eight bytes are left: what is
  /// secret is longer, and words would be torn.
  ///
  /// A member that is the secret itself becomes ``echo``: who reads it knows that it was repeated.
  package func withoutEchoes(of request: HTTPRequest) -> HTTPReply {
    guard status >= 400 || jsonObject?.isRefusal ?? false else { return self }
    let secrets = SentSecrets(request).values
    guard !secrets.isEmpty else { return self }
    var text = String(decoding: body, as: UTF8.self)
    for secret in secrets { text = text.replacing(secret, with: Self.echo) }
    var reply = self
    reply.body = Array(text.utf8)
    return reply
  }
}

extension [String: JSONValue] {
  /// Whether a body says no, whatever the status: each provider has its own word for it.
  fileprivate var isRefusal: Bool {
    let isNo = self["success"] == false || self["data"]?["error"] != nil
    let isCode = self["responseCode"]?.gopayCode.map { !$0.hasPrefix("2") } ?? false
    let isRTCode = self["rtCode"]?.integerValue.map { $0 != 0 } ?? false
    return isNo || isCode || isRTCode
      || ["error", "code", "errors", "reason"].contains { self[$0] != nil }
  }
}

// A secret that the request did not carry may come back all the same.
extension ProviderWord {
  fileprivate func hiding(_ secrets: [Secret]) -> ProviderWord {
    var word = self
    word.error = error.map { $0.hiding(secrets) }
    word.message = message.map { $0.hiding(secrets) }
    return word
  }
}

extension Failure {
  /// The same with ``HTTPReply/echo`` wherever it repeats one of these.
  func hiding(_ secrets: [Secret]) -> Failure {
    var failure = self
    failure.message = message.hiding(secrets)
    failure.provider = provider.map { $0.hiding(secrets) }
    return failure
  }
}

extension Problem {
  /// Likewise.
  func hiding(_ secrets: [Secret]) -> Problem {
    var problem = self
    problem.message = message.hiding(secrets)
    problem.provider = provider.map { $0.hiding(secrets) }
    return problem
  }
}

extension String {
  fileprivate func hiding(_ secrets: [Secret]) -> String {
    secrets.map { $0.revealed() }.filter { $0.utf8.count >= SentSecrets.shortest }
      .reduce(self) { $0.replacing($1, with: HTTPReply.echo) }
  }
}

/// What is secret in a request, as an answer may repeat it; the longest first.
private struct SentSecrets {
  static let shortest = 8
  /// Headers that prove who asks, whole or after the name of a scheme.
  private static let proofs: Set<String> = [
    "authorization", "appkey", "authorization-customer", "x-signature", "x-onekyc-token",
  ]
  /// Fields of a form that tell nothing.
  private static let known: Set<String> = [
    "audience", "client_assertion_type", "client_id", "grant_type", "redirect_uri", "resource",
    "scope", "token_type_hint",
  ]

  let values: [String]

  init(_ request: HTTPRequest) {
    let fields = request.body.flatMap { FormEncoding.decode($0.revealed()) } ?? []
    let sent =
      fields.filter { !Self.known.contains($0.name) }.map(\.value)
      + request.secrets.map { $0.revealed() }
      + request.headers.filter { Self.proofs.contains($0.name.lowercased()) }
      .flatMap { Self.credentials($0.value) }
    // In JSON a slash may have been escaped.
    let all = Set(sent + sent.map { $0.replacing("/", with: "\\/") })
    values = all.filter { $0.utf8.count >= Self.shortest }
      .sorted { ($1.utf8.count, $1) < ($0.utf8.count, $0) }
  }

  /// The token of `Bearer`; of `Basic` the password too (RFC 6749 §2.3.1).
  private static func credentials(_ header: Secret) -> [String] {
    guard let token = header.revealed().split(separator: " ").last.map({ String($0) }) else {
      return []
    }
    let pair = Data(base64Encoded: token).map { String(decoding: $0, as: UTF8.self) } ?? ""
    guard let password = pair.split(separator: ":", maxSplits: 1).dropFirst().first else {
      return [token]
    }
    let plain = FormEncoding.decode("p=\(password)")?.first?.value
    return [token, String(password)] + (plain.map { [$0] } ?? [])
  }
}
