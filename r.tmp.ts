import * as FastCheck from "effect/FastCheck"
import { Cron } from "croner"
import { CronExpressionParser } from "cron-parser"
import * as S from "./src/services/schedule/Schedule.js"
import * as CE from "./src/services/schedule/CronExpression.js"
import { triple } from "./test/services/schedule/support/triples.js"
import * as R from "./test/services/schedule/support/reference.js"
const N=Number(process.argv[2]), seed=Number(process.argv[3])
let t0=performance.now(); const all=FastCheck.sample(triple,{numRuns:N,seed}); console.log("sample",performance.now()-t0)
t0=performance.now(); let bad=0,cmp=0,never=0
for(const {expression,zone,after} of all){ if(CE.parse(expression)._tag==="Left"){never++;continue}
 const o=S.next({kind:"cron",expression,timezone:zone,ownZone:true},after)!
 if(o-after>400*86400e3*3) continue
 cmp++; const r=R.next(expression,zone,after,o+86400e3)
 if(r!==o&&bad++<10) console.log("BAD",expression,zone,new Date(after).toISOString(),"ours",new Date(o).toISOString(),"ref",r===null?null:new Date(r).toISOString()) }
console.log({cmp,bad,never,ms:performance.now()-t0})
