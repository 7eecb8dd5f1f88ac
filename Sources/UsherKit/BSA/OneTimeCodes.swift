public import FoundationEssentials
import UsherAPI
import UsherClient
import UsherCore

extension BSA {
  /// A code of the registration's TOTP secret (RFC 6238). It prints without the code.
  public struct TOTPCode: Sendable, Equatable {
    public let code: String
    /// How long each code is good.
    public let period: Duration
    /// When this one's time is over.
    public let expiresAt: Date
  }

  /// A code for now: the daemon's `totp.code`, in the place of the SDK's `loadTOTPSecretKey`.
  ///
  /// - Throws: 2008 where nobody has registered; 9009 where a rule of this machine wants a local
  ///   authentication first; 10001 with `retryAfter` where codes are given once and this step's has
  ///   been.
  public static func totpCode() async throws(BSAError) -> TOTPCode {
    try await service.totpCode()
  }
}

extension BSAService {
  func totpCode() async throws(BSAError) -> BSA.TOTPCode {
    var registration = known
    if registration == nil { registration = try await refresh() }
    guard let account = registration?.account else { throw .notRegistered }
    return try await asBSA {
      do {
        return BSA.TOTPCode(try await client.call(UsherAPI.TOTPCode(account: AccountID(account))))
      } catch let error as UsherError where error.detail.next?.provider.rawValue == "local" {
        throw BSAError.failed(rtCode: BSACode.localAuthFailed, message: error.message)
      }
    }
  }
}

extension BSAError {
  fileprivate static var notRegistered: BSAError {
    .failed(rtCode: BSACode.notRegistered, message: "nobody has registered here")
  }
}

extension BSA.TOTPCode {
  init(_ reply: UsherAPI.TOTPCode.Reply) {
    code = reply.code.secret.revealed()
    period = .seconds(reply.periodSeconds)
    expiresAt = reply.expiresAt.date
  }
}

extension BSA.TOTPCode: CustomStringConvertible, CustomReflectable {
  public var description: String { "a code of \(period)" }
  public var customMirror: Mirror { Mirror(self, children: [] as [Mirror.Child]) }
}
