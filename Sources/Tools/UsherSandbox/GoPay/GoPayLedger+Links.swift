import FoundationEssentials

extension GoPayLedger {
  /// The permission behind a linking token.
  struct Link: Sendable, Hashable {
    enum Term: String, Sendable, Codable {
      case short
      case long
    }

    enum State: String, Sendable {
      case live
      case revoked
      case unbound
    }

    let id: String
    let person: GoPayPerson
    let term: Term
    var isWhitelisted = true
    var state = State.live
  }

  /// Adds the tokens that always exist, as <doc:GoPay> lists them: two for each person and further
  /// ones for the first person.
  mutating func addFixedLinks() {
    for person in people {
      add("\(person.username)-short-term", person, .short)
      add("\(person.username)-long-term", person, .long)
    }
    guard let first = people.first else { return }
    add("short-term-linking-token", first, .short)
    add("linking-token-xyz", first, .short)
    add("long-term-token", first, .long)
    add("expired-token", first, .long, until: .distantPast)
    add("not-whitelisted-token", first, .long, isWhitelisted: false)
  }

  private mutating func add(
    _ token: String, _ person: GoPayPerson, _ term: Link.Term, until: Date = .distantFuture,
    isWhitelisted: Bool = true
  ) {
    links.insert(
      Link(id: nextID("lnk"), person: person, term: term, isWhitelisted: isWhitelisted),
      for: token, until: until, now: .distantPast)
  }

  /// Issues a linking token.
  ///
  /// - Parameter text: The token; nil generates a random one.
  mutating func link(
    _ person: GoPayPerson, _ term: Link.Term, _ settings: GoPayBackendSettings, text: String? = nil,
    isWhitelisted: Bool = true, now: Date
  ) -> String {
    let token = text ?? tokenGenerator.token("glt")
    let end =
      term == .long
      ? Date.distantFuture : now.addingTimeInterval(Double(settings.shortTermSeconds))
    links.insert(
      Link(id: nextID("lnk"), person: person, term: term, isWhitelisted: isWhitelisted),
      for: token, until: end, now: now)
    return token
  }

  /// Returns the person of a linking token.
  ///
  /// - Throws: `unknown` or `notWhitelisted`.
  func holder(
    of token: String, _ settings: GoPayBackendSettings, now: Date
  ) throws(Failure) -> GoPayPerson {
    guard let link = links.value(token, now: now), link.state == .live,
      !settings.isClosed(link.person)
    else { throw .unknown }
    guard link.isWhitelisted else { throw .notWhitelisted }
    return link.person
  }

  /// Unbinds a linking token.
  ///
  /// - Throws: `unknown`; `closed` if the token was already unbound or the account is closed.
  mutating func unbind(_ token: String, _ settings: GoPayBackendSettings, now: Date) throws(Failure)
  {
    guard let link = links.value(token, now: now), link.state != .revoked else { throw .unknown }
    guard link.state == .live, !settings.isClosed(link.person) else { throw .closed }
    links.update(token) { $0.state = .unbound }
  }

  mutating func revokeAll() {
    links.updateAll { $0.state = .revoked }
  }

  /// Returns a valid token of another person, for a callback with a wrong authorization.
  func tokenOfAnother(than person: GoPayPerson, now: Date) -> String? {
    links.listing.first {
      $0.value.person != person && $0.value.state == .live && $0.expires > now
    }?.key
  }
}
