import FoundationEssentials

/// The customers' wallets and the changes made to them, as one value.
struct Wallets: Sendable {
  struct Payment: Sendable, Hashable {
    let id: String
    let order: WalletRequest.PaymentOrder
    let walletOperationID: String?
    let time: Date
  }

  struct Wallet: Sendable, Hashable {
    let owner: User
    var balance = Amount(cents: 100_000)
    var payments: [Payment] = []
    var payees: [String: WalletRequest.Payee] = [:]
    var daily = Amount(cents: 500_000)
    var single = Amount(cents: 100_000)
  }

  /// A change that was performed, for tests to count.
  struct Performed: Sendable, Hashable {
    let number: Int
    let walletID: String
    let method: String
    let path: String
    let body: JSON?
    let eventID: String?
    let time: Date
  }

  /// The largest number of payees in a wallet, and of payments and changes that are remembered.
  static let limit = 1000

  private let tokenGenerator: TokenGenerator
  private var wallets: [String: Wallet]
  private(set) var performed: [Performed] = []
  private var count = 0

  /// Creates one wallet per user, with the id `wlt_` followed by the user name.
  init(_ users: Users, tokenGenerator: TokenGenerator) {
    self.tokenGenerator = tokenGenerator
    wallets = Dictionary(users.all.map { ("wlt_\($0.username)", Wallet(owner: $0)) }) { $1 }
  }

  /// Returns a wallet. A wallet of another customer is reported as not found.
  func wallet(_ id: String, of user: User) throws(WalletRefusal) -> Wallet {
    guard let wallet = wallets[id], wallet.owner == user else {
      throw WalletRefusal(404, "WALLET_NOT_FOUND", "there is no such wallet")
    }
    return wallet
  }

  /// Throws if a request cannot be performed, whether approved or not.
  func check(_ request: WalletRequest, _ id: String, of user: User, now: Date) throws(WalletRefusal)
  {
    let wallet = try wallet(id, of: user)
    switch request {
    case .pay(let order):
      let today = wallet.payments.filter { $0.time > now.addingTimeInterval(-86_400) }
      let spent = today.reduce(order.amount.cents) { $0 + $1.order.amount.cents }
      guard order.amount <= wallet.single, spent <= wallet.daily.cents else {
        throw WalletRefusal(422, "LIMIT_EXCEEDED", "the amount exceeds the wallet's limits")
      }
      guard order.amount <= wallet.balance else {
        throw WalletRefusal(422, "INSUFFICIENT_FUNDS", "the balance is \(wallet.balance.text)")
      }
    case .removePayee(let payee):
      guard wallet.payees[payee] != nil else {
        throw WalletRefusal(404, "PAYEE_NOT_FOUND", "there is no such payee")
      }
    case .setPayee(let payee, _):
      guard wallet.payees[payee] != nil || wallet.payees.count < Self.limit else {
        throw WalletRefusal(422, "TOO_MANY_PAYEES", "a wallet has at most \(Self.limit) payees")
      }
    case .readBalance, .readPayments, .readPayees, .readLimits, .setLimits: break
    }
  }

  /// Performs a request that passed ``check(_:_:of:now:)``; returns the wallet as it is afterwards.
  mutating func perform(
    _ request: WalletRequest, _ id: String, of user: User, walletOperationID: String?, now: Date
  ) throws(WalletRefusal) -> Wallet {
    var wallet = try wallet(id, of: user)
    switch request {
    case .readBalance, .readPayments, .readPayees, .readLimits: break
    case .pay(let order):
      wallet.balance.cents -= order.amount.cents
      if wallet.payments.count == Self.limit { wallet.payments.removeFirst() }
      wallet.payments.append(
        Payment(
          id: tokenGenerator.token("pay"), order: order, walletOperationID: walletOperationID,
          time: now))
    case .setPayee(let payee, let value): wallet.payees[payee] = value
    case .removePayee(let payee): wallet.payees[payee] = nil
    case .setLimits(let daily, let single):
      wallet.daily = daily ?? wallet.daily
      wallet.single = single ?? wallet.single
    }
    wallets[id] = wallet
    return wallet
  }

  /// Records a change as the newest one.
  mutating func record(
    _ operation: WalletRequestOperation, _ walletID: String, body: JSON?, eventID: String?,
    now: Date
  ) {
    count += 1
    if performed.count == Self.limit { performed.removeFirst() }
    performed.append(
      Performed(
        number: count, walletID: walletID, method: operation.method, path: operation.path,
        body: body, eventID: eventID, time: now))
  }
}
