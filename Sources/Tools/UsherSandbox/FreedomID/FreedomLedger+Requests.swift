import FoundationEssentials

/// An authorization link that a partner requested.
struct IssuedLink: Sendable, Hashable {
  let redirectURI: String
  let grants: [String]
}

/// A consent that a person gave in an app.
struct FreedomConsent: Sendable, Hashable {
  let id: String
  let person: String
  let device: String
  let asked: [String]
  let at: Date
}

/// A partner's request for a person's profile.
struct FreedomRequest: Sendable, Hashable {
  enum State: String, Sendable {
    case pending
    case completed
    case rejected
    case failed
    case notFound = "not_found"
  }

  /// The id that the partner chose.
  let id: String
  /// The id of the person whose token made the request.
  let owner: String
  /// The id of the requested person; nil if nobody has the requested id or phone number.
  let asked: String?
  let grants: [String]
  let created: Date
  var state: State
  var settled: Date?

  var key: String { Self.key(owner, id) }

  static func key(_ owner: String, _ id: String) -> String { "\(owner) \(id.lowercased())" }
}

extension FreedomLedger {
  /// Stores a link.
  ///
  /// - Returns: The `track_id` and the time at which it expires.
  mutating func addLink(
    _ link: IssuedLink, _ settings: FreedomIDBackendSettings, now: Date
  ) -> (track: String, expires: Date) {
    let track = tokenGenerator.uuid()
    let expires = now.addingTimeInterval(Double(settings.linkSeconds))
    links.insert(link, for: track, until: expires, now: now)
    return (track, expires)
  }

  /// Stores a request for the time that the settings demand. A known request is returned unchanged.
  mutating func add(
    _ request: FreedomRequest, _ settings: FreedomIDBackendSettings, now: Date
  ) -> FreedomRequest {
    if let known = requests.value(request.key, now: now) { return known }
    store(request, settings, now)
    return request
  }

  /// Sets the state of a request.
  ///
  /// - Returns: The changed request; nil if the request is unknown.
  mutating func setState(
    _ key: String, _ state: FreedomRequest.State, _ settings: FreedomIDBackendSettings, now: Date
  ) -> FreedomRequest? {
    guard var request = requests.value(key, now: now) else { return nil }
    request.state = state
    request.settled = state == .pending ? nil : now
    store(request, settings, now)
    return request
  }

  private mutating func store(
    _ request: FreedomRequest, _ settings: FreedomIDBackendSettings, _ now: Date
  ) {
    let seconds =
      request.settled == nil ? settings.pendingSeconds : settings.answeredSeconds
    requests.remove(request.key)
    requests.insert(
      request, for: request.key,
      until: (request.settled ?? request.created).addingTimeInterval(Double(seconds)), now: now)
  }

  /// Returns the requests that the person has not answered yet.
  func waiting(for person: String, now: Date) -> [FreedomRequest] {
    requests.listing.filter {
      $0.expires > now && $0.value.asked == person && $0.value.state == .pending
    }.map(\.value)
  }
}
