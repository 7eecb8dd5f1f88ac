import FoundationEssentials

/// What a partner asks a browser to be sent to.
struct FreedomLink: Sendable, Hashable {
  let redirectURI: String
  let grants: [String]
}

/// What somebody granted in an app, and what the app was answered.
struct FreedomConsent: Sendable, Hashable {
  let id: String
  let person: String
  let device: String
  let asked: [String]
  let at: Date
}

/// A profile that a partner asks somebody for.
struct FreedomRequest: Sendable, Hashable {
  enum State: String, Sendable {
    case pending
    case completed
    case rejected
    case failed
    case notFound = "not_found"
  }

  /// As the partner made it.
  let id: String
  /// Who asks: the id of a person.
  let owner: String
  /// Nil where nobody has that id or number.
  let asked: String?
  let grants: [String]
  let created: Date
  var state: State
  var settled: Date?

  var key: String { Self.key(owner, id) }

  static func key(_ owner: String, _ id: String) -> String { "\(owner) \(id.lowercased())" }
}

extension FreedomLedger {
  /// - Returns: The `track_id`, and when it is over.
  mutating func addLink(
    _ link: FreedomLink, _ settings: FreedomSettings, now: Date
  ) -> (track: String, expires: Date) {
    let track = mint.uuid()
    let expires = now.addingTimeInterval(Double(settings.linkSeconds))
    links.insert(link, for: track, until: expires, now: now)
    return (track, expires)
  }

  /// Remembers a request for as long as the settings say; one that is there already stays.
  mutating func add(
    _ request: FreedomRequest, _ settings: FreedomSettings, now: Date
  ) -> FreedomRequest {
    if let known = requests.value(request.key, now: now) { return known }
    keep(request, settings, now)
    return request
  }

  /// - Returns: The request as it is then; nil where there is none.
  mutating func settle(
    _ key: String, _ state: FreedomRequest.State, _ settings: FreedomSettings, now: Date
  ) -> FreedomRequest? {
    guard var request = requests.value(key, now: now) else { return nil }
    request.state = state
    request.settled = state == .pending ? nil : now
    keep(request, settings, now)
    return request
  }

  private mutating func keep(
    _ request: FreedomRequest, _ settings: FreedomSettings, _ now: Date
  ) {
    let seconds =
      request.settled == nil ? settings.pendingSeconds : settings.answeredSeconds
    requests.remove(request.key)
    requests.insert(
      request, for: request.key,
      until: (request.settled ?? request.created).addingTimeInterval(Double(seconds)), now: now)
  }

  /// What somebody is asked for, and has not answered.
  func waiting(for person: String, now: Date) -> [FreedomRequest] {
    requests.listing.filter {
      $0.expires > now && $0.value.asked == person && $0.value.state == .pending
    }.map(\.value)
  }
}
