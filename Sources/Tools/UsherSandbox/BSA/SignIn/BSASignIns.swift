import FoundationEssentials

/// The sign-ins in progress or ended recently, and their tokens, as one value.
struct BSASignIns: Sendable {
  private let tokenGenerator: TokenGenerator
  private var table = ExpiringTable<BSASignIn>()
  /// User keys by token.
  private var tokens = ExpiringTable<String>()

  init(tokenGenerator: TokenGenerator) {
    self.tokenGenerator = tokenGenerator
  }

  /// Returns all sign-ins that are still remembered, oldest first.
  func all(now: Date) -> [BSASignIn] {
    table.values.map { $0.at(now) }.filter { $0.isRemembered(at: now) }
  }

  func signIn(_ id: String, now: Date) -> BSASignIn? { all(now: now).first { $0.id == id } }

  /// Returns the sign-in that waits for the person's device.
  func waiting(for userKey: String, now: Date) -> BSASignIn? {
    all(now: now).last { $0.userKey == userKey && $0.stage == .waiting }
  }

  /// Whether the person has a sign-in that has not ended.
  func isBusy(_ userKey: String, now: Date) -> Bool {
    all(now: now).contains { $0.userKey == userKey && $0.stage.isLive }
  }

  func user(of token: String, now: Date) -> String? { tokens.value(token, now: now) }

  /// Begins a person's sign-in at a site.
  ///
  /// - Parameter userKey: The person; nil for a QR code, which any person may read.
  /// - Throws: 2010 if the person has a sign-in that has not ended.
  mutating func begin(
    _ trigger: BSASignIn.Trigger, at site: BSAClient, _ userKey: String?,
    _ settings: BSABackendSettings,
    now: Date
  ) throws(BSARefusal) -> BSASignIn {
    if let userKey, isBusy(userKey, now: now) { throw .inProgress }
    let isQR = trigger == .qr
    let seconds = Double(isQR ? settings.qrSeconds : settings.authSeconds)
    let signIn = BSASignIn(
      id: tokenGenerator.token("sgn"), trigger: trigger, site: site,
      qrID: isQR ? tokenGenerator.token("qr") : nil,
      userKey: isQR ? nil : userKey, begun: now, expires: now.addingTimeInterval(seconds))
    table.insert(signIn, for: signIn.id, until: .distantFuture, now: now)
    return signIn
  }

  /// Opens the channel of the sign-in that waits for the device.
  ///
  /// - Parameter client: The holder of the client key in the request.
  mutating func open(
    _ userKey: String, on device: String, for client: BSAClient, qrID: String?,
    _ settings: BSABackendSettings, now: Date
  ) throws(BSARefusal) -> BSASignIn.Channel {
    let signIn = try found(userKey, on: device, client, qrID, now)
    switch signIn.stage {
    case .waiting: break
    case .underWay:
      guard !settings.channelOnce, let channel = signIn.channel, channel.device == device else {
        throw .inProgress
      }
      return channel
    case .completed, .cancelled, .timedOut: throw signIn.over(settings)
    }
    let channel = BSASignIn.Channel(
      key: tokenGenerator.token("chn"), blockKey: tokenGenerator.token("blk"), device: device)
    table.update(signIn.id) { signIn in
      signIn.userKey = userKey
      signIn.channel = channel
      signIn.stage = .underWay
      if signIn.trigger == .qr {
        signIn.expires = now.addingTimeInterval(Double(settings.authSeconds))
      }
    }
    return channel
  }

  private func found(
    _ userKey: String, on device: String, _ client: BSAClient, _ qrID: String?, _ now: Date
  ) throws(BSARefusal) -> BSASignIn {
    guard let qrID else {
      guard let signIn = all(now: now).last(where: { $0.userKey == userKey && $0.site == client })
      else { throw .nothingInProgress }
      return signIn
    }
    guard let signIn = all(now: now).last(where: { $0.qrID == qrID }) else { throw .qrInvalid }
    guard signIn.site == .acme, client == .app || client == signIn.site else {
      throw .qrOfOtherApp
    }
    if signIn.stage == .timedOut, signIn.channel == nil { throw .qrInvalid }
    if let reader = signIn.channel?.device, reader != device || signIn.userKey != userKey {
      throw .qrInvalid
    }
    return signIn
  }

  /// Returns the latest sign-in whose channel the device has opened.
  func opened(
    on device: String, qrID: String?, now: Date
  ) throws(BSARefusal) -> BSASignIn {
    let all = all(now: now)
    if let qrID, !all.contains(where: { $0.qrID == qrID && $0.channel?.device == device }) {
      throw .qrInvalid
    }
    guard
      let signIn = all.last(where: {
        $0.channel?.device == device && (qrID == nil || $0.qrID == qrID)
      })
    else { throw .nothingInProgress }
    return signIn
  }

  /// Completes a sign-in and issues its token; does nothing if it is already completed.
  mutating func complete(
    _ signIn: BSASignIn, localAuth: Bool, _ settings: BSABackendSettings, now: Date
  ) throws(BSARefusal) {
    switch signIn.stage {
    case .underWay: break
    case .completed: return
    case .waiting, .cancelled, .timedOut: throw signIn.over(settings)
    }
    let token = tokenGenerator.token("bsa")
    tokens.insert(
      signIn.userKey ?? "", for: token,
      until: now.addingTimeInterval(Double(settings.tokenSeconds)), now: now)
    table.update(signIn.id) {
      $0.stage = .completed(token: token, localAuth: localAuth, isCollected: false)
    }
  }

  /// Returns the token of a completed sign-in. A repeated request returns the same token.
  mutating func collect(
    _ channelKey: String, on device: String, for client: BSAClient, _ settings: BSABackendSettings,
    now: Date
  ) throws(BSARefusal) -> String {
    guard
      let signIn = all(now: now).last(where: {
        $0.channel?.key == channelKey && $0.channel?.device == device
      }), client == signIn.site || client == .app && signIn.trigger == .qr
    else { throw .channel }
    switch signIn.stage {
    case .waiting, .underWay: throw .inProgress
    case .completed(let token, let localAuth, _):
      table.update(signIn.id) {
        $0.stage = .completed(token: token, localAuth: localAuth, isCollected: true)
      }
      return token
    case .cancelled, .timedOut: throw signIn.over(settings)
    }
  }

  /// Cancels a sign-in at the device's request.
  ///
  /// - Parameter users: The user keys that are registered on the device.
  mutating func cancel(
    on device: String, _ users: [String], qrID: String?, _ settings: BSABackendSettings, now: Date
  ) throws(BSARefusal) {
    let mine = all(now: now).filter { signIn in
      guard let qrID else {
        return signIn.channel.map { $0.device == device }
          ?? signIn.userKey.map(users.contains) ?? false
      }
      return signIn.qrID == qrID && [nil, device].contains(signIn.channel?.device)
    }
    guard let signIn = mine.last(where: \.stage.isLive) ?? mine.last else {
      throw qrID == nil ? .nothingInProgress : .qrInvalid
    }
    guard signIn.stage.isLive else { throw signIn.over(settings) }
    table.update(signIn.id) { $0.stage = .cancelled }
  }

  /// Ends a sign-in; returns false if it has already ended.
  mutating func end(_ id: String, as stage: BSASignIn.Phase, now: Date) -> Bool {
    guard let signIn = signIn(id, now: now), signIn.stage.isLive else { return false }
    table.update(id) { $0.stage = stage }
    return true
  }

  mutating func expireAll(now: Date) {
    table.updateAll { signIn in
      if signIn.at(now).stage.isLive { signIn.stage = .timedOut }
    }
  }

  mutating func expireTokens() { tokens = ExpiringTable() }
}
