package import FoundationEssentials

/// The rules for devices that wait for their user (RFC 8628).
package struct DeviceTerms: Sendable, Hashable {
  package var codeSeconds = 600
  /// Seconds between polls; at 0 there is no `slow_down`.
  package var interval = 5
}

extension Ledger {
  /// A device that waits for its user to approve it on another device (RFC 8628).
  struct Device: Sendable {
    enum State: Sendable {
      case waiting
      case allowed(User, at: Date)
      case denied
      case spent
    }

    var clientID: String
    var scope: [String]
    var resources: [String]
    var userCode: String
    var interval: Int
    var lastPoll: Date?
    var state = State.waiting
    /// Whom the provider asks on another device; nil if the user enters a code there.
    var backchannel: Backchannel?
  }

  package struct DeviceStart: Sendable, Equatable {
    package var deviceCode: String
    package var userCode: String
    package var expiresIn: Int
    package var interval: Int

    /// The members of the response (RFC 8628 §3.2).
    ///
    /// - Parameter page: The URL of the page on which the user enters the code.
    func members(page: String) -> [String: JSON] {
      [
        "device_code": .string(deviceCode), "user_code": .string(userCode),
        "verification_uri": .string(page), "expires_in": .integer(expiresIn),
        "interval": .integer(interval),
      ]
    }
  }

  package mutating func startDevice(
    client: Client, scope: [String], resources: [String] = [], now: Date
  ) -> DeviceStart {
    let start = DeviceStart(
      deviceCode: tokenGenerator.token("dc"), userCode: tokenGenerator.userCode(),
      expiresIn: deviceTerms.codeSeconds, interval: deviceTerms.interval)
    devices.insert(
      Device(
        clientID: client.id, scope: scope, resources: resources, userCode: start.userCode,
        interval: start.interval),
      for: start.deviceCode, until: now.addingTimeInterval(Double(start.expiresIn)), now: now)
    return start
  }

  /// Seconds by which a poll may be early, since the previous one may have been delayed on its way.
  private static let jitter = 0.25

  /// Handles one poll of the token endpoint (RFC 8628 §3.5).
  ///
  /// Refuses with `authorization_pending`, `slow_down` (which adds five seconds to the interval
  /// permanently), `access_denied`, `expired_token` or `invalid_grant`.
  ///
  /// - Parameters:
  ///   - isBackchannel: Whether the code is the id of an authentication request (CIBA Core §11).
  ///   - key: The thumbprint of the key of which the request has a proof. The tokens are bound to
  ///     it.
  package mutating func pollDevice(
    _ code: String, client: Client, isBackchannel: Bool = false, key: String? = nil, now: Date
  ) throws(OAuthError) -> IssuedTokens {
    if devices.isExpired(code, now: now) {
      throw OAuthError("expired_token", "the device code has expired")
    }
    guard let device = devices.value(code, now: now) else {
      throw OAuthError("invalid_grant", "no such device code")
    }
    guard (device.backchannel != nil) == isBackchannel else {
      throw OAuthError("invalid_grant", "the code is of another grant")
    }
    guard device.clientID == client.id else {
      throw OAuthError("invalid_grant", "the device code was issued to another client")
    }
    try enforceInterval(code, device, now)
    switch device.state {
    case .waiting:
      throw OAuthError("authorization_pending", "the user code has not been entered yet")
    case .denied: throw OAuthError("access_denied", "the person denied the request")
    case .spent: throw OAuthError("invalid_grant", "the device code was used before")
    case .allowed(let user, let time):
      devices.update(code) { $0.state = .spent }
      let authorization = TokenAuthorization(
        clientID: client.id, user: user, scope: device.scope, nonce: nil, authTime: time,
        resources: device.resources, isDevice: true, keyThumbprint: key)
      return tokens.open(authorization, now: now).tokens
    }
  }

  private mutating func enforceInterval(_ code: String, _ device: Device, _ now: Date)
    throws(OAuthError)
  {
    let pause = device.lastPoll.map { now.timeIntervalSince($0) }
    devices.update(code) { $0.lastPoll = now }
    if let pause, pause < Double(device.interval) - Self.jitter {
      devices.update(code) { $0.interval += 5 }
      var refusal = OAuthError(
        "slow_down", "polled sooner than the interval of \(device.interval) seconds")
      refusal.interval = device.interval + 5
      throw refusal
    }
  }

  /// Returns the device code that waits under a user code; nil if there is none. Case and
  /// separators of the user code are ignored.
  package func waitingDevice(userCode: String, now: Date) -> String? {
    let letters = userCode.uppercased().filter { $0.isASCII && $0.isLetter }
    let key = devices.key { device in
      guard case .waiting = device.state, device.backchannel == nil else { return false }
      return device.userCode.filter(\.isLetter) == letters
    }
    guard let key, devices.value(key, now: now) != nil else { return nil }
    return key
  }

  /// Returns the client and the scope of a device, for the consent page.
  package func request(ofDevice code: String, now: Date) -> (clientID: String, scope: [String])? {
    devices.value(code, now: now).map { ($0.clientID, $0.scope) }
  }

  package mutating func settleDevice(_ code: String, user: User, allowed: Bool, authTime: Date) {
    devices.update(code) { device in
      guard case .waiting = device.state else { return }
      device.state = allowed ? .allowed(user, at: authTime) : .denied
    }
  }
}
