package import JSONRPC
import UsherAPI
import UsherCore

/// The outcome of a call to BSA: rtCode 0 with the reply's `data`, or any other rtCode (provider
/// contract §5.2).
package typealias BSAReply = ProviderReply<JSONValue, RTCode, String>
package typealias BSAReplyError = ReplyError<RTCode>

extension BSAReply {
  package init(_ outcome: CallOutcome) {
    self.init(outcome) { reply in
      // The HTTP status does not matter if the reply has an rtCode (provider contract §10, trap
      // 12).
      if let members = reply.jsonObject, let code = members["rtCode"]?.integerValue {
        return code == 0 ? .success(members["data"] ?? .null) : .refused(RTCode(code))
      }
      return reply.status >= 500 || [408, 425, 429].contains(reply.status)
        // A request that is answered with 425 was not processed (RFC 8470 §5.2), and neither was
        // one with 429.
        ? .failed(ReplyError(reply, unprocessed: [425, 429]))
        : .unreadable("the provider's answer (HTTP \(reply.status)) has no rtCode")
    }
  }
}

extension JSONValue {
  /// The value as an integer if it is an integer, or a string that holds one.
  var looseInteger: Int64? { integerValue ?? stringValue.flatMap { Int64($0) } }

  /// The text as a secret if it can be sent in a header: 1 to 8192 bytes of visible ASCII; nil
  /// otherwise.
  var visibleSecret: Sealed<Secret>? { visibleText(upTo: 8192).map { Sealed(Secret($0)) } }
}

// Failures and problems that the BSA flows share.

extension Failure {
  /// The failure of a flow whose parameters cannot be sent to BSA.
  ///
  /// - Parameter message: A sentence for users.
  static func impossible(_ code: RTCode, _ message: String, _ provider: ProviderName) -> Failure {
    Failure(
      reason: .invalidRequest, title: "Impossible request", message: message, retryable: false,
      provider: code.providerErrorCode(provider))
  }

  static func refused(_ code: RTCode, _ provider: ProviderName) -> Failure {
    Failure(
      reason: code.endedAs, title: "Refused by the provider",
      message: code.meaning, retryable: code.isRetryable || code.endedAs != .providerRejected,
      provider: code.providerErrorCode(provider))
  }

  /// The failure of a flow that cannot reach BSA. It has no rtCode, like the SDK's `onError`.
  static func unreachable(_ problem: BSAReplyError) -> Failure { .unreachable(problem.message) }

  /// The failure of a flow for which BSA may have sent a number. It is not retryable, because only
  /// the user may request another number.
  static func unknownSending(_ cause: String) -> Failure {
    .unreachable("\(cause); whether a number was sent is not known", retryable: false)
  }

  static func missingMember(_ member: String) -> Failure {
    .protocolError("the provider's answer has no usable \(member)")
  }

  static func otherApp(_ what: String, _ provider: ProviderName) -> Failure {
    .impossible(.clientKeyUnknown, "\(what) is not the configured one", provider)
  }

  /// The failure of a flow whose user did not authenticate locally.
  ///
  /// - Parameter message: A sentence for users.
  static func notIdentified(
    _ errorCode: LocalAuthErrorCode, _ message: String, _ provider: ProviderName
  ) -> Failure {
    var failure = Failure.localAuth(errorCode, message)
    failure.provider = ProviderErrorCode(
      name: provider, code: errorCode.rawValue, error: errorCode.rtCode.map { String($0.number) })
    return failure
  }
}

extension RTCode {
  /// The failure reason of a flow that ends with this rtCode.
  fileprivate var endedAs: Failure.Reason {
    switch self {
    case .certificateTimeout, .authTimeout: .expired
    case .authCancelled, .requestCancelled: .denied
    default: .providerRejected
    }
  }
}

extension LocalAuthErrorCode {
  /// The rtCode of the vendor's predecessor product that has the same meaning; nil if there is none
  /// (provider contract §5.5, inferred).
  var rtCode: RTCode? {
    switch self {
    case .domainStateChanged: RTCode(9006)
    case .biometricNotAvailable: RTCode(9001)
    case .biometricLockOut: RTCode(9002)
    case .biometricNotSupportHardware: RTCode(9003)
    case .biometricNotEnrolledDevice: RTCode(9004)
    case .authFailed: RTCode(9009)
    case .passcodeNotEnrolledDevice, .userCancel, .userFallback: nil
    }
  }
}
