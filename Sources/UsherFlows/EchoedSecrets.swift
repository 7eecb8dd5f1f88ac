import FoundationEssentials
import JSONRPC
import UsherAPI
import UsherCore

extension HTTPReply {
  /// The text that replaces a secret of the request which an error reply repeated.
  package static let echo = "…"

  /// Returns the reply; in an error reply, the secrets of the request are replaced.
  ///
  /// Some providers repeat a rejected code or refresh token in `error_description`. That text is
  /// shown to users and logged. ``SecretMask`` documents which secrets it finds.
  ///
  /// A member whose whole value is the secret becomes ``echo``, so that the reader of the reply
  /// recognizes it.
  package func withoutEchoes(of request: HTTPRequest) -> HTTPReply {
    guard status >= 400 || jsonObject?.isRefusal(by: request.resultCode) ?? false else {
      return self
    }
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
  /// Whether the body reports an error, whatever the HTTP status: by the provider's result code, or
  /// by a member that only errors have.
  fileprivate func isRefusal(by resultCode: HTTPRequest.ResultCode?) -> Bool {
    let code = resultCode.flatMap { self[$0.member]?.codeText }
    let isFailed = resultCode.map { code?.hasPrefix($0.success) == false } ?? false
    return isFailed || self["success"] == false || self["data"]?["error"] != nil
      || ["error", "code", "errors", "reason"].contains { self[$0] != nil && self[$0] != "" }
  }
}

// A failure may also repeat a secret that its request did not carry.
extension ProviderErrorCode {
  fileprivate func hiding(_ mask: SecretMask) -> ProviderErrorCode {
    var errorCode = self
    errorCode.code = mask.hide(in: code)
    errorCode.error = error.map { mask.hide(in: $0) }
    errorCode.title = title.map { mask.hide(in: $0) }
    errorCode.message = message.map { mask.hide(in: $0) }
    return errorCode
  }
}

/// A failure or problem of a flow, whose texts may come from a provider.
protocol ProviderReport {
  var message: String { get set }
  var provider: ProviderErrorCode? { get set }
}

extension Failure: ProviderReport {}
extension Problem: ProviderReport {}

extension ProviderReport {
  /// Returns a copy in which ``HTTPReply/echo`` replaces each of the secrets.
  func hiding(_ secrets: [Secret]) -> Self {
    let mask = SecretMask(secrets.map { $0.revealed() })
    var report = self
    report.message = mask.hide(in: message)
    report.provider = provider.map { $0.hiding(mask) }
    return report
  }
}

extension HTTPRequest {
  /// Parameters of OAuth requests that are not secret.
  private static let publicFields: Set<String> = [
    "audience", "client_assertion_type", "client_id", "grant_type", "redirect_uri",
    "requested_token_type", "resource", "scope", "subject_token_type", "token_type_hint",
  ]

  /// Returns the values of the fields that are not known to be public.
  static func secrets(in fields: [(name: String, value: String)]) -> [String] {
    fields.filter { !publicFields.contains($0.name) }.map(\.value)
  }
}

/// The secrets of a request to a provider, in each form in which a reply may repeat them.
private struct SentSecrets {
  let values: [String]

  init(_ request: HTTPRequest) {
    let fields = request.body.flatMap { FormEncoding.decode($0.revealed()) } ?? []
    values =
      HTTPRequest.secrets(in: fields)
      + request.secrets.map { $0.revealed() }
      + request.headers.filter(\.isSecret).flatMap { Self.credentials($0.value) }
  }

  /// Returns the value of a header, also without the name of an authentication scheme; for `Basic`
  /// also the password (RFC 6749 §2.3.1).
  private static func credentials(_ header: Secret) -> [String] {
    let value = header.revealed()
    guard let token = value.split(separator: " ").last.map({ String($0) }) else { return [] }
    let pair = Data(base64Encoded: token).map { String(decoding: $0, as: UTF8.self) } ?? ""
    guard let password = pair.split(separator: ":", maxSplits: 1).dropFirst().first else {
      return [value, token]
    }
    let plain = FormEncoding.decode("p=\(password)")?.first?.value
    return [value, token, String(password)] + (plain.map { [$0] } ?? [])
  }
}
