import FoundationEssentials

extension Date {
  /// The time in RFC 3339 format with whole seconds, as the wallet API writes it.
  var timestamp: JSON { .string(formatted(.iso8601)) }
}

extension WalletRequest {
  /// Returns the response to this wallet request.
  ///
  /// - Parameters:
  ///   - wallet: The wallet after the request was performed.
  ///   - id: The id of the wallet.
  func reply(_ wallet: Wallets.Wallet, _ id: String) -> Reply {
    switch self {
    case .readBalance:
      .json([
        "walletId": .string(id), "balance": .string(wallet.balance.text),
        "currency": .string(Self.currency),
      ])
    case .readPayments: .json(["payments": .array(wallet.payments.map { $0.json(id) })])
    case .pay: .json(wallet.payments.last?.json(id) ?? .null, status: 201)
    case .readPayees:
      .json([
        "payees": .array(wallet.payees.sorted { $0.key < $1.key }.map { $1.json($0) })
      ])
    case .setPayee(let payee, let value): .json(value.json(payee))
    case .removePayee: Reply(status: 204)
    case .readLimits, .setLimits:
      .json(["daily": .string(wallet.daily.text), "single": .string(wallet.single.text)])
    }
  }

  /// Whether the request changes nothing.
  var isReading: Bool {
    switch self {
    case .readBalance, .readPayments, .readPayees, .readLimits: true
    case .pay, .setPayee, .removePayee, .setLimits: false
    }
  }
}

extension WalletRequest.Payee {
  fileprivate func json(_ id: String) -> JSON {
    ["payeeId": .string(id), "name": .string(name), "iban": .string(iban)]
  }
}

extension Wallets.Payment {
  fileprivate func json(_ walletID: String) -> JSON {
    var members: [String: JSON] = [
      "paymentId": .string(id), "walletId": .string(walletID),
      "amount": .string(order.amount.text), "currency": .string(WalletRequest.currency),
      "payee": .string(order.payee), "creationTime": time.timestamp,
    ]
    members["reference"] = order.reference.map { .string($0) }
    members["walletOperationId"] = walletOperationID.map { .string($0) }
    return .object(members)
  }
}

extension Wallets.Performed {
  var json: JSON {
    var members: [String: JSON] = [
      "number": .integer(number), "walletId": .string(walletID), "method": .string(method),
      "path": .string(path), "time": time.timestamp,
    ]
    members["body"] = body
    members["eventId"] = eventID.map { .string($0) }
    return .object(members)
  }
}
