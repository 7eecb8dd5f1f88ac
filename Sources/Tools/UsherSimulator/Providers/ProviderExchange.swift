import UsherFlows

/// A request to a provider that the checks follow.
final class ProviderExchange: @unchecked Sendable {
  let number: Int
  let request: WireRequest
  /// What requests to this provider mean; nil if no provider has this address.
  let wire: (any ProviderWire)?
  /// The refresh token that the request presents; nil if it is no refresh.
  let presented: String?
  /// The access token that the request exchanges; nil if it exchanges none.
  let exchanged: String?
  /// What the request does; nil if it may be repeated.
  let single: SingleRequest?
  var isOpen = true
  /// Whether something between the daemon and the provider sends the request again.
  var isRepeated = false
  /// Whether the provider may have received the request.
  var mayHaveArrived = true
  /// Whether the provider answered with status 2xx, even if the daemon never learns it.
  var wasPerformed = false
  /// How the request ended for the daemon; nil before.
  var outcome: CallOutcome?
  /// What the provider issued in reply, if it processed the request.
  var issued: TokenHistory.Issue?

  init(_ number: Int, _ request: WireRequest, _ provided: ProvidedValues) {
    self.number = number
    self.request = request
    wire = ProviderWires.of(request)
    presented = wire?.refreshToken(request)
    exchanged = wire?.exchangedToken(request)
    single = wire?.singleRequest(request, provided)
  }

  /// Returns the same request, as something between the daemon and the provider sends it again.
  func again(_ provided: ProvidedValues) -> ProviderExchange {
    let repeated = ProviderExchange(number, request, provided)
    repeated.isOpen = false
    return repeated
  }
}
