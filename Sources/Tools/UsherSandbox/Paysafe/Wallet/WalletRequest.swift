/// A parsed and validated wallet request.
enum WalletRequest: Sendable, Hashable {
  case readBalance
  case readPayments
  case pay(PaymentOrder)
  case readPayees
  case setPayee(id: String, Payee)
  case removePayee(id: String)
  case readLimits
  case setLimits(daily: Amount?, single: Amount?)

  struct PaymentOrder: Sendable, Hashable {
    var amount: Amount
    var payee: String
    var reference: String?
  }

  struct Payee: Sendable, Hashable {
    var name: String
    var iban: String
  }

  /// The only supported currency.
  static let currency = "EUR"

  /// Whether the request needs approval.
  func needsSCA(_ settings: PaysafeBackendSettings) -> Bool {
    switch self {
    case .readBalance, .readPayments, .readPayees, .readLimits: settings.scaForReading
    case .pay(let order): Double(order.amount.cents) > (settings.scaAmount * 100).rounded()
    case .setPayee, .removePayee, .setLimits: settings.scaForChanges
    }
  }

  /// The description that the customer reads; for a payment, with amount and payee.
  var summary: String {
    switch self {
    case .readBalance: "see your balance"
    case .readPayments: "see your payments"
    case .readPayees: "see your payees"
    case .readLimits: "see your limits"
    case .pay(let order): "pay \(order.amount.text) \(Self.currency) to \(order.payee)"
    case .setPayee(_, let payee): "make \(payee.name) a payee"
    case .removePayee(let id): "remove the payee \(id)"
    case .setLimits: "change your limits"
    }
  }
}

extension WalletRequest {
  static func payment(_ call: EndpointCall, _ body: JSON?) throws(OAuthError) -> WalletRequest {
    var members = try ObjectReader(body)
    let amount = try members.amount("amount")
    guard let amount, amount.cents > 0 else {
      throw members.invalid("amount", "is missing or not above 0")
    }
    guard try members.requiredText("currency") == currency else {
      throw members.invalid("currency", "must be \(currency)")
    }
    let order = PaymentOrder(
      amount: amount, payee: try members.requiredText("payee"),
      reference: try members.text("reference"))
    try members.finish()
    return .pay(order)
  }

  static func payee(_ call: EndpointCall, _ body: JSON?) throws(OAuthError) -> WalletRequest {
    var members = try ObjectReader(body)
    let payee = Payee(
      name: try members.requiredText("name"), iban: try members.requiredText("iban", limit: 34))
    try members.finish()
    return .setPayee(id: call.parameters["payeeId"] ?? "", payee)
  }

  static func limits(_ call: EndpointCall, _ body: JSON?) throws(OAuthError) -> WalletRequest {
    var members = try ObjectReader(body)
    let daily = try members.amount("daily")
    let single = try members.amount("single")
    try members.finish()
    guard daily != nil || single != nil else {
      throw members.invalid("daily", "or single is required")
    }
    return .setLimits(daily: daily, single: single)
  }
}

extension ObjectReader {
  fileprivate mutating func amount(_ name: String) throws(OAuthError) -> Amount? {
    guard let json = remove(name) else { return nil }
    guard let amount = Amount(json) else {
      throw invalid(name, "is not an amount like \"120.00\"")
    }
    return amount
  }
}
