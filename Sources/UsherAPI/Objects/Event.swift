public import UsherCore

/// What `events.subscribe` can be told of.
public enum EventTopic: String, Codable, Sendable, CaseIterable {
  case flow, account, token, provider, confirm, kyc
}

/// One thing that happened: ids, status, state, step type; never a secret.
public struct Event: Codable, Sendable, Equatable {
  public var topic: EventTopic
  /// `started`, `moved`, `finished`, `added`, `updated`, `forgotten`, `refreshed`,
  /// `expiring` (the grant dies soon), `dead`, `health`; of `confirm`: `asked`, `answered`, `expired`,
  /// `forgotten`.
  public var what: String
  public var at: Timestamp
  public var provider: ProviderName?
  public var flow: FlowID?
  public var kind: String?
  public var status: FlowStatus?
  public var state: String?
  public var revision: Int?
  public var step: Step.Kind?
  public var account: AccountID?
  public var confirmation: ConfirmationID?
  /// Which client asked: a rule's name.
  public var client: String?

  public init(
    topic: EventTopic, what: String, at: Timestamp, provider: ProviderName? = nil,
    flow: FlowID? = nil, kind: String? = nil, status: FlowStatus? = nil, state: String? = nil,
    revision: Int? = nil, step: Step.Kind? = nil, account: AccountID? = nil,
    confirmation: ConfirmationID? = nil, client: String? = nil
  ) {
    self.topic = topic
    self.what = what
    self.at = at
    self.provider = provider
    self.flow = flow
    self.kind = kind
    self.status = status
    self.state = state
    self.revision = revision
    self.step = step
    self.account = account
    self.confirmation = confirmation
    self.client = client
  }
}

/// The parameters of the notification `events.notify`.
public struct EventNotification: Codable, Sendable, Equatable {
  public static let name = "events.notify"

  public var subscription: String
  public var cursor: Int
  public var event: Event

  public init(subscription: String, cursor: Int, event: Event) {
    self.subscription = subscription
    self.cursor = cursor
    self.event = event
  }
}

/// The parameters of `events.lost`: the queue overflowed and the subscription has ended.
public struct EventsLost: Codable, Sendable, Equatable {
  public static let name = "events.lost"

  public var subscription: String
  /// Subscribe again with `since` this cursor for what is still remembered.
  public var cursor: Int

  public init(subscription: String, cursor: Int) {
    self.subscription = subscription
    self.cursor = cursor
  }
}
