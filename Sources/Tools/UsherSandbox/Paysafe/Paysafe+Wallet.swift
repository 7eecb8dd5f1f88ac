extension PaysafeBackend {
  /// Handles a wallet request. Performs it if it needs no approval or carries a proof of approval;
  /// otherwise opens an event and announces it.
  func operate(
    _ call: EndpointCall,
    _ read: @Sendable (EndpointCall, JSON?) throws(OAuthError) -> WalletRequest
  ) async -> Reply {
    await respondingWithWalletErrors {
      let user = try await customer(call)
      let now = context.clock.now()
      let walletID = call.parameters["walletId"] ?? ""
      let (proof, body) = try ScaProof.extract(
        from: call, call.body.isEmpty ? nil : try call.postedJSON())
      let request = try read(call, body)
      try wallets.check(request, walletID, of: user, now: now)
      let operation = WalletRequestOperation(
        call, body: body, summary: request.summary, announced: settings.announce.form)
      if let proof {
        try events.redeem(proof, of: user, for: operation, now: now)
      } else if request.needsSCA(settings) {
        return announce(openEvent(for: user, operation, settings, now))
      }
      let wallet = try wallets.perform(
        request, walletID, of: user, walletOperationID: proof?.walletOperationID, now: now)
      if !request.isReading {
        wallets.record(operation, walletID, body: body, eventID: proof?.eventID, now: now)
      }
      return request.reply(wallet, walletID)
    }
  }
}
