public import FoundationEssentials
import UsherAPI
import UsherClient

extension BSA {
  /// A TOTP code (RFC 6238) for the registered person. Its description omits the code.
  public struct TOTPCode: Sendable, Equatable {
    public let code: String
    /// The duration of a time step, for which each code is valid.
    public let period: Duration
    /// The time at which this code expires.
    public let expiresAt: Date
  }

  /// Returns the current TOTP code (`totp.code`). It replaces the SDK's `loadTOTPSecretKey`.
  ///
  /// - Throws: ``BSAError/failed(rtCode:message:retryAfter:)`` with 2008 if no person is
  ///   registered; 9009 if a rule of the daemon requires a local authentication first; 10001 with
  ///   `retryAfter` if the provider is set to `single_use` and the code of this time step was
  ///   already issued.
  public static func totpCode() async throws(BSAError) -> TOTPCode {
    try await call { try await $0.totpCode() }
  }
}

extension BSAService {
  func totpCode() async throws -> BSA.TOTPCode {
    var registration = lastRegistration
    if registration == nil { registration = try await refresh() }
    guard let account = registration?.account else {
      throw BSAError.failed(
        rtCode: BSACode.notRegistered, message: "no person is registered on this device")
    }
    do {
      let reply = try await provider.client.call(UsherAPI.TOTPCode(account: AccountID(account)))
      return BSA.TOTPCode(
        code: reply.code.secret.revealed(), period: .seconds(reply.periodSeconds),
        expiresAt: reply.expiresAt.date)
    } catch let error as UsherError where error.detail.next?.provider.rawValue == "local" {
      throw BSAError.failed(rtCode: BSACode.localAuthFailed, message: error.message)
    }
  }
}

extension BSA.TOTPCode: CustomStringConvertible, CustomReflectable {
  public var description: String { "a code of \(period)" }
  public var customMirror: Mirror { Mirror(self, children: [] as [Mirror.Child]) }
}
