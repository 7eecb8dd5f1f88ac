import FoundationEssentials

extension TruecallerLedger {
  /// What create comes to.
  enum Creation: Equatable {
    case sms(code: String, verificationToken: String, seconds: Int)
    /// The installation has verified the number before.
    case verifiedBefore(accessToken: String)
  }

  /// What verify comes to, and what is said besides.
  enum Check: Equatable {
    case right(accessToken: String, Carried)
    case wrong(Carried)
  }

  /// What replaces the verification token and the seconds that create told.
  enum Carried: Equatable {
    case nothing
    case null
    case token(String, seconds: Int)
  }

  /// The most numbers that one installation is remembered with.
  private static let numbersOfInstallation = 100

  /// - Throws: 4001, 4002, 4291 and 4292. Only what sends an SMS counts for a cap.
  mutating func create(_ request: CreateRequest, now: Date) throws(TruecallerRefusal) -> Creation {
    note(request, now: now)
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
      code: mint.digits(settings.otpDigits), issued: now,
      expires: now.addingTimeInterval(Double(settings.tokenTtl)))
    return .sms(
      code: verification.code, verificationToken: add(verification, now: now),
      seconds: settings.tokenTtl)
  }

  /// - Throws: 4100 and 4293. A code of a verification that has succeeded is answered with the same
  ///   access token until its time is over.
  mutating func verify(_ request: VerifyRequest, now: Date) throws(TruecallerRefusal) -> Check {
    let key = request.verificationToken
    guard var verification = verifications.value(key, now: now),
      verification.number == request.number
    else { throw .verification }
    if let token = verification.accessToken, verification.code == request.code {
      return .right(accessToken: token, carry(key, verification, now: now))
    }
    guard verification.wrongCodes < settings.wrongCodeCap else { throw .wrongCodeCap }
    guard verification.code == request.code else {
      verification.wrongCodes += 1
      verifications.update(key) { $0 = verification }
      return .wrong(carry(key, verification, now: now))
    }
    let token = grant(verification.number, verification.deviceID, verifiedBefore: false, now: now)
    verification.accessToken = token
    verifications.update(key) { $0 = verification }
    if settings.rememberVerified {
      remember(verification.number, deviceID: verification.deviceID, now: now)
    }
    return .right(accessToken: token, carry(key, verification, now: now))
  }

  private mutating func note(_ request: CreateRequest, now: Date) {
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

  /// The verification token under which it stands from now on.
  private mutating func add(_ verification: Verification, now: Date) -> String {
    let token = mint.token("tcv")
    verifications.insert(verification, for: token, until: verification.expires, now: now)
    return token
  }

  private mutating func carry(
    _ key: String, _ verification: Verification, now: Date
  ) -> Carried {
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
