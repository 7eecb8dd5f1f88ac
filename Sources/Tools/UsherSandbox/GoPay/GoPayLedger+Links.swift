import FoundationEssentials

extension GoPayLedger {
  /// What a linking token stands for.
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

  /// The tokens that are there from the start, as <doc:GoPay> lists them: two for everybody, and
  /// the others for the first.
  mutating func addStandingLinks() {
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

  /// A new linking token.
  ///
  /// - Parameter text: What it is; nil for one that nobody guesses.
  mutating func link(
    _ person: GoPayPerson, _ term: Link.Term, _ settings: GoPaySettings, text: String? = nil,
    isWhitelisted: Bool = true, now: Date
  ) -> String {
    let token = text ?? mint.token("glt")
    let end =
      term == .long
      ? Date.distantFuture : now.addingTimeInterval(Double(settings.shortTermSeconds))
    links.insert(
      Link(id: nextID("lnk"), person: person, term: term, isWhitelisted: isWhitelisted),
      for: token, until: end, now: now)
    return token
  }

  /// Whose a linking token is.
  ///
  /// - Throws: `unknown`, `notWhitelisted`.
  func holder(
    of token: String, _ settings: GoPaySettings, now: Date
  ) throws(Failure) -> GoPayPerson {
    guard let link = links.value(token, now: now), link.state == .live,
      !settings.isClosed(link.person)
    else { throw .unknown }
    guard link.isWhitelisted else { throw .notWhitelisted }
    return link.person
  }

  /// Ends a linking token.
  ///
  /// - Throws: `unknown`; `closed` for one that was unbound before.
  mutating func unbind(_ token: String, _ settings: GoPaySettings, now: Date) throws(Failure) {
    guard let link = links.value(token, now: now), link.state != .revoked else { throw .unknown }
    guard link.state == .live, !settings.isClosed(link.person) else { throw .closed }
    links.update(token) { $0.state = .unbound }
  }

  mutating func revokeAll() {
    links.updateAll { $0.state = .revoked }
  }

  /// A good token of somebody else, for a callback that shows the wrong one.
  func tokenOfAnother(than person: GoPayPerson, now: Date) -> String? {
    links.listing.first {
      $0.value.person != person && $0.value.state == .live && $0.expires > now
    }?.key
  }
}
