import FoundationEssentials

extension TruecallerLedger {
  /// The outcome of a create request.
  enum Creation: Equatable {
    case sms(code: String, verificationToken: String, seconds: Int)
    /// The installation has already verified this number, so no code is sent.
    case verifiedBefore(accessToken: String)
  }

  /// The outcome of a verify request, with its optional members.
  enum Check: Equatable {
    case right(accessToken: String, RenewedToken)
    case wrong(RenewedToken)
  }

  /// The `verificationToken` and `tokenTtl` of a verify response, which replace the created ones.
  enum RenewedToken: Equatable {
    case nothing
    case null
    case token(String, seconds: Int)
  }

  /// The largest number of phone numbers that are remembered per installation.
  private static let numbersOfInstallation = 100

  /// Starts a verification. Only requests that send an SMS count towards a daily limit.
  ///
  /// - Throws: Error 4001, 4002, 4291 or 4292.
  mutating func create(_ request: CreateRequest, now: Date) throws(TruecallerErrorReply) -> Creation
  {
    count(request, now: now)
    guard !settings.unservedCountries.contains(request.number.country) else { throw .unserved }
    guard !settings.uncallable.contains(request.number.e164) else { throw .uncallable }
    if isKnown(request, now: now) {
      let token = grant(request.number, request.deviceID, verifiedBefore: true, now: now)
      return .verifiedBefore(accessToken: token)
    }
    try checkCaps(request, now: now)
    countSMS(request, now: now)
    let verification = Verification(
      id: nextID("ver"), number: request.number, deviceID: request.deviceID,
      code: tokenGenerator.digits(settings.otpDigits), issued: now,
      expires: now.addingTimeInterval(Double(settings.tokenTtl)))
    return .sms(
      code: verification.code, verificationToken: add(verification, now: now),
      seconds: settings.tokenTtl)
  }

  /// Checks a code. Until a verification expires, its right code gives the same access token.
  ///
  /// - Throws: Error 4100 or 4293.
  mutating func verify(_ request: VerifyRequest, now: Date) throws(TruecallerErrorReply) -> Check {
    let key = request.verificationToken
    guard var verification = verifications.value(key, now: now),
      verification.number == request.number
    else { throw .verification }
    if let token = verification.accessToken, verification.code == request.code {
      return .right(accessToken: token, renewToken(key, verification, now: now))
    }
    guard verification.wrongCodes < settings.wrongCodeCap else { throw .wrongCodeCap }
    guard verification.code == request.code else {
      verification.wrongCodes += 1
      verifications.update(key) { $0 = verification }
      return .wrong(renewToken(key, verification, now: now))
    }
    let token = grant(verification.number, verification.deviceID, verifiedBefore: false, now: now)
    verification.accessToken = token
    verifications.update(key) { $0 = verification }
    if settings.rememberVerified {
      remember(verification.number, deviceID: verification.deviceID, now: now)
    }
    return .right(accessToken: token, renewToken(key, verification, now: now))
  }

  private mutating func count(_ request: CreateRequest, now: Date) {
    var installation = installations.value(request.deviceID, now: now) ?? Installation()
    installation.requests += 1
    if !installation.numbers.contains(request.number.e164) {
      installation.numbers = installation.numbers.suffix(Self.numbersOfInstallation - 1)
      installation.numbers.append(request.number.e164)
    }
    if installation.requests == 1 {
      installations.insert(
        installation, for: request.deviceID, until: .distantFuture, now: now)
    } else {
      installations.update(request.deviceID) { $0 = installation }
    }
  }

  /// Stores a verification and returns its verification token.
  private mutating func add(_ verification: Verification, now: Date) -> String {
    let token = tokenGenerator.token("tcv")
    verifications.insert(verification, for: token, until: verification.expires, now: now)
    return token
  }

  private mutating func renewToken(
    _ key: String, _ verification: Verification, now: Date
  ) -> RenewedToken {
    switch settings.verifyCarries {
    case .nothing: return .nothing
    case .null: return .null
    case .same:
      let seconds = verification.expires.timeIntervalSince(now).rounded(.up)
      return .token(key, seconds: Int(seconds))
    case .new:
      var renewed = verification
      renewed.expires = now.addingTimeInterval(Double(settings.tokenTtl))
      verifications.remove(key)
      return .token(add(renewed, now: now), seconds: settings.tokenTtl)
    }
  }
}
