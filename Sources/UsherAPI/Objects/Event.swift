public import JSONRPC
public import UsherCore

/// The topics to which a client can subscribe.
public enum EventTopic: String, Codable, Sendable, CaseIterable {
  case flow, account, token, provider, confirm, kyc
}

/// An event that the daemon sends to subscribed clients. It contains ids, a status, a state and the
/// type of a step, but no secret.
public struct Event: Codable, Sendable, Equatable {
  /// The topic of the event.
  public var topic: EventTopic
  /// The change, by topic. `flow`: `started`, `moved`, `finished`. `account`: `added`, `updated`,
  /// `forgotten`. `token`: `refreshed`, `expiring` (the grant expires soon), `dead`. `provider`:
  /// `ok`, `unknown`, `failing`. `confirm`: `asked`, `answered`, `expired`, `forgotten`. `kyc`: the
  /// status of the identity verification, in lower case.
  public var what: String
  /// The time of the change.
  public var at: Timestamp
  /// The provider that the event is about.
  public var provider: ProviderName?
  /// The flow that the event is about.
  public var flow: FlowID?
  /// The kind of the flow.
  public var kind: String?
  /// The status of the flow.
  public var status: FlowStatus?
  /// The state of the flow.
  public var state: String?
  /// The revision of the flow.
  public var revision: Int?
  /// The type of the flow's step; absent if the flow has finished.
  public var step: Step.Kind?
  /// The account that the event is about.
  public var account: AccountID?
  /// The question that the event is about.
  public var confirmation: ConfirmationID?
  /// The client whose call must be confirmed, by the name of its rule; present only with the topic
  /// `confirm`.
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

/// A notification that the daemon sends by itself. The stored properties of a conforming type are
/// its parameters.
public protocol DaemonNotification: Codable, Sendable, SchemaDocumented {
  static var name: String { get }

  /// When the notification is sent, in one sentence for the OpenRPC document.
  static var summary: String { get }

  /// An example of the parameters for the OpenRPC document.
  static var example: JSONValue { get }
}

/// The parameters of the notification `events.notify`.
public struct EventNotification: DaemonNotification, Equatable {
  public static let name = "events.notify"
  public static let summary = "Sent for each event of a subscription, in the order of the events."

  /// The id of the subscription, from `events.subscribe`.
  public var subscription: String
  /// The cursor of the event, for `since` of a later subscription.
  public var cursor: Int
  /// The event.
  public var event: Event

  public init(subscription: String, cursor: Int, event: Event) {
    self.subscription = subscription
    self.cursor = cursor
    self.event = event
  }
}

/// The parameters of the notification `events.lost`: the subscription has ended because events were
/// lost.
public struct EventsLost: DaemonNotification, Equatable {
  public static let name = "events.lost"
  public static let summary = "Sent once when a subscription ends because events were lost."

  /// The id of the subscription, which has ended.
  public var subscription: String
  /// The cursor of the last event that was sent. A new subscription with it as `since` continues
  /// from there if the daemon still remembers the events.
  public var cursor: Int

  public init(subscription: String, cursor: Int) {
    self.subscription = subscription
    self.cursor = cursor
  }
}

extension Event: SchemaDocumented {
  public static let component: SchemaComponent? = .init(
    "Event",
    "An event. It contains ids, a status, a state and the type of a step, but no secret.")
}

extension EventNotification {
  public static let example: JSONValue = [
    "subscription": "sub_1", "cursor": 42, "event": .exampleEvent,
  ]
}

extension EventsLost {
  public static let example: JSONValue = ["subscription": "sub_1", "cursor": 42]
}
