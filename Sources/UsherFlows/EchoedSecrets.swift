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
  /// that text is shown to people and logged. ``SecretMask`` says what is found and what is left.
  ///
  /// A member that is the secret itself becomes ``echo``: who reads it knows that it was repeated.
  package func withoutEchoes(of request: HTTPRequest) -> HTTPReply {
    guard status >= 400 || jsonObject?.isRefusal ?? false else { return self }
    let mask = SecretMask(SentSecrets(request).values)
    var reply = self
    if let value = try? JSONValue(parsing: body) {
      let masked = mask.hide(in: value)
      if masked != value { reply.body = masked.encoded() }
    } else {
      reply.body = Array(mask.hide(in: String(decoding: body, as: UTF8.self)).utf8)
    }
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
      || ["error", "code", "errors", "reason"].contains { self[$0] != nil && self[$0] != "" }
  }
}

// A secret that the request did not carry may come back all the same.
extension ProviderErrorCode {
  fileprivate func hiding(_ mask: SecretMask) -> ProviderErrorCode {
    var word = self
    word.code = mask.hide(in: code)
    word.error = error.map { mask.hide(in: $0) }
    word.title = title.map { mask.hide(in: $0) }
    word.message = message.map { mask.hide(in: $0) }
    return word
  }
}

extension Failure {
  /// The same with ``HTTPReply/echo`` wherever it repeats one of these.
  func hiding(_ secrets: [Secret]) -> Failure {
    let mask = SecretMask(secrets.map { $0.revealed() })
    var failure = self
    failure.message = mask.hide(in: message)
    failure.provider = provider.map { $0.hiding(mask) }
    return failure
  }
}

extension Problem {
  /// Likewise.
  func hiding(_ secrets: [Secret]) -> Problem {
    let mask = SecretMask(secrets.map { $0.revealed() })
    var problem = self
    problem.message = mask.hide(in: message)
    problem.provider = provider.map { $0.hiding(mask) }
    return problem
  }
}

/// What is secret in a request, as an answer may repeat it.
private struct SentSecrets {
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
    values =
      fields.filter { !Self.known.contains($0.name) }.map(\.value)
      + request.secrets.map { $0.revealed() }
      + request.headers.filter { Self.proofs.contains($0.name.lowercased()) }
      .flatMap { Self.credentials($0.value) }
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
