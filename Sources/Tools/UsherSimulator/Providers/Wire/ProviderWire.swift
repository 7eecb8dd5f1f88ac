import JSONRPC

/// What requests to a provider and its replies mean for the checks.
///
/// Each provider is one type in a file of this directory, and ``ProviderWires/all`` lists them.
protocol ProviderWire: Sendable {
  /// The beginning of the paths of the provider.
  var prefix: String { get }

  /// Returns the refresh token that a request presents; nil if it is no refresh.
  func refreshToken(_ request: WireRequest) -> String?

  /// Returns the access token that a request exchanges for another one; nil if it exchanges none.
  func exchangedToken(_ request: WireRequest) -> String?

  /// Returns what tells the sign-ins of several clients at a provider apart: ``prefix``, and more
  /// if it has several.
  func realm(_ request: WireRequest) -> String

  /// Whether the tokens that a request gets must be bound to a key.
  func bindsTokens(_ request: WireRequest) -> Bool

  /// Returns the code for whose tokens a request polls; nil if it does not poll.
  func polledCode(_ request: WireRequest) -> String?

  /// Returns the code that a reply with status 2xx lets the daemon poll with, and the seconds
  /// between two polls; nil if there is none.
  func newPolling(_ reply: JSONValue) -> (code: String, interval: Int64)?

  /// Returns the token that a request revokes; nil if it revokes none.
  func revokedToken(_ request: WireRequest) -> String?

  /// Returns the tokens of a sign-in or of a refresh that a reply with status 2xx issues.
  func newTokens(
    _ request: WireRequest, _ reply: JSONValue, _ provided: ProvidedValues
  ) -> NewTokens?

  /// Describes a request that the daemon must not repeat; nil if it may.
  func singleRequest(_ request: WireRequest, _ provided: ProvidedValues) -> SingleRequest?

  /// Records what a reply with status 2xx gives the daemon, and whose it is.
  func record(_ request: WireRequest, _ reply: JSONValue, in provided: ProvidedValues)
}

extension ProviderWire {
  func refreshToken(_ request: WireRequest) -> String? { nil }
  func revokedToken(_ request: WireRequest) -> String? { nil }
  func exchangedToken(_ request: WireRequest) -> String? { nil }
  func realm(_ request: WireRequest) -> String { prefix }
  func bindsTokens(_ request: WireRequest) -> Bool { false }
  func polledCode(_ request: WireRequest) -> String? { nil }
  func newPolling(_ reply: JSONValue) -> (code: String, interval: Int64)? { nil }
  func newTokens(
    _ request: WireRequest, _ reply: JSONValue, _ provided: ProvidedValues
  ) -> NewTokens? { nil }
  func record(_ request: WireRequest, _ reply: JSONValue, in provided: ProvidedValues) {}
}

/// All providers, as the checks read their requests.
enum ProviderWires {
  static let all: [any ProviderWire] = [
    OpenIDWire(), TruecallerWire(), BSAWire(), PaysafeWire(), GoPayWire(), FreedomWire(),
  ]

  static func of(_ request: WireRequest) -> (any ProviderWire)? {
    all.first { request.path.hasPrefix($0.prefix) }
  }
}

/// Tokens that a provider issued and refreshes.
struct NewTokens {
  /// The subject at the provider; nil if the reply to a refresh does not say it.
  var subject: String?
  var accessToken: String
  var refreshToken: String?
  var seconds: Int64
  /// Identifies a person on a device, where a new sign-in ends the tokens of the one before; nil if
  /// the provider's sign-ins do not end each other.
  var tie: String?
  /// Whether the reply says the end as a time, which a machine with a wrong clock misunderstands.
  var isEndATime = false
  /// The audience for which the access token was requested; nil if for none.
  var audience: String?
  /// The ID token, and the seconds until it ends; nil if there is none.
  var idToken: (text: String, seconds: Int64)?
}

/// A request that the daemon must not repeat after it may have arrived.
struct SingleRequest: Sendable {
  /// What the request does, and to what: requests of the same name do the same.
  var name: String
  /// Whether each ask of a person permits one more.
  var isAsked = false
  /// The key by which the provider recognises a repetition, and does nothing.
  var idempotencyKey: String?
  /// The statuses of replies that say that the request was not performed.
  var refusals: Set<Int> = []
  /// The statuses that say so if the reply has a `Retry-After`.
  var postponements: Set<Int> = []
  /// Whether the daemon asks the provider if the request was performed, before it repeats it.
  var isInquired = false
}
