import JSONRPC
import UsherAPI
import UsherCore

/// An authorization code that the daemon passes to the app, because the app's own backend redeems
/// it (provider contract §2.3).
///
/// The step shows the code to the app and waits until the deadline for the access token. The
/// handover survives a restart of the daemon.
struct PaysafeHandover: Codable, Sendable, Equatable {
  let code: Sealed<Secret>
  /// The code verifier for the app; nil if the caller created the challenge and so has the
  /// verifier.
  let verifier: Sealed<Secret>?
  let redirectURI: String
  let deadline: Timestamp

  func step(_ requestID: String) -> Step.ExchangeCredential {
    .init(
      credential: .init(type: .authCode, code: WireSecret(code.unsealed())),
      codeVerifier: verifier.map { WireSecret($0.unsealed()) }, redirectURI: redirectURI,
      requestId: requestID, deadline: deadline)
  }

  func receive(
    _ event: FlowEvent<PaysafeCall>, _ login: PaysafeLogin, at now: Timestamp
  ) -> Answer<PaysafeCall> {
    let isOver = now >= deadline
    switch event {
    case .input where isOver, .woken where isOver, .daemon(.resumed) where isOver:
      return .fail(.exchangeTimedOut)
    case .woken, .daemon(.resumed): return .proceed([.wake(after: deadline - now)])
    case .input(.exchanged(let fields)):
      do throws(InvalidExchangeReport) {
        let exchanged = try ExchangedTokens(fields, at: now)
        return login.finish(exchanged.tokens, exchanged.customer)
      } catch {
        return .refuse(field: error.field, message: error.message)
      }
    case .input(.exchangeFailed(let reason)): return .fail(.exchangeFailed(reason))
    case .input(.back): return .codeIsHandedOver
    case .input, .browser, .provider, .daemon: return .ignore
    }
  }
}

/// The tokens that the app's backend got for the code, as the app submits them to the daemon.
struct ExchangedTokens {
  let tokens: TokenSet
  let customer: PersonClaims

  /// The lifetime of a refresh token in seconds, from the vendor's documentation (provider contract
  /// §2.4). The app's input does not contain it.
  private static let refreshLifetime = 1800

  init(_ fields: [String: Secret], at now: Timestamp) throws(InvalidExchangeReport) {
    try fields.allow(["accessToken", "expiresIn", "refreshToken"])
    guard let access = try fields.token("accessToken", upTo: 65_536) else {
      throw InvalidExchangeReport("accessToken", "is missing")
    }
    guard let claims = JSONWebToken.claims(of: access), let customer = PersonClaims(claims) else {
      throw InvalidExchangeReport("accessToken", "is not a JWT with a sub")
    }
    let refresh = try fields.token("refreshToken", upTo: 65_536)
    let expiry = claims["exp"]?.integerValue.map { Timestamp(seconds: Double($0)) }
    self.customer = customer
    tokens = TokenSet(
      accessToken: Sealed(access), tokenType: "Bearer",
      expiresAt: try Self.seconds(fields["expiresIn"], "expiresIn").map { now + $0 } ?? expiry,
      scope: "", refreshToken: refresh.map { Sealed($0) },
      refreshExpiresAt: refresh.map { _ in now + .seconds(Self.refreshLifetime) })
  }

  private static func seconds(_ value: Secret?, _ name: String) throws(InvalidExchangeReport)
    -> Duration?
  {
    guard let text = value?.revealed() else { return nil }
    guard text.utf8.allSatisfy(\.isDigit), let seconds = Int(text), seconds <= 315_360_000 else {
      throw InvalidExchangeReport(
        name, "must be seconds in decimal digits, at most ten years of them")
    }
    return .seconds(seconds)
  }
}

extension Failure {
  /// Returns the failure of a flow whose code the app could not redeem.
  ///
  /// - Parameter reason: The reason as the app reports it.
  fileprivate static func exchangeFailed(_ reason: String) -> Failure {
    let reason = ProviderText.shown(reason).map { ": \($0)" } ?? ""
    return Failure(
      reason: .exchangeFailed, title: "Code not redeemed",
      message: "the app could not redeem the code" + reason, retryable: true)
  }

  fileprivate static let exchangeTimedOut = Failure(
    reason: .exchangeTimedOut, title: "Code not redeemed",
    message: "the app did not redeem the code in time", retryable: true)
}
