import { Cron } from "croner"
import { CronExpressionParser } from "cron-parser"
import * as S from "./src/services/schedule/Schedule.js"
import * as CE from "./src/services/schedule/CronExpression.js"
import * as TZ from "./src/services/schedule/TimeZone.js"
let seed=Number(process.argv[3]??1); const rnd=()=>{seed=(seed*1664525+1013904223)>>>0;return seed/2**32}
const int=(a:number,b:number)=>a+Math.floor(rnd()*(b-a+1)); const pick=<A,>(x:ReadonlyArray<A>)=>x[int(0,x.length-1)]!
const zones=["UTC","America/New_York","Europe/Berlin","America/Santiago","America/Sao_Paulo","Asia/Beirut","Africa/Cairo","Australia/Lord_Howe","Pacific/Apia","Africa/Casablanca","Asia/Tehran","America/St_Johns","Antarctica/Troll","Asia/Kolkata","Pacific/Kwajalein","Europe/Dublin","America/Havana","Asia/Gaza"]
const field=(lo:number,hi:number,names:string[]=[])=>{const one=()=>{const r=rnd(); if(r<.35) return "*"; if(r<.45) {const st=pick([2,3,5,7,10,15].filter(x=>x<hi-lo)); return `*/${st}`}
 if(r<.6){const a=int(lo,hi-1),b=int(a,hi);return rnd()<.3&&b>a+3?`${a}-${b}/${int(2,3)}`:`${a}-${b}`} if(names.length&&r<.7) return pick(names); return String(int(lo,hi))}
 const a=one(); return a==="*"||rnd()<.8?a:[...new Set(Array.from({length:int(2,4)},()=>int(lo,hi)))].sort((x,y)=>x-y).join(",")}
const days=()=>{const r=rnd(); if(r<.5)return "*"; if(r<.55) return "L"; if(r<.6) return `${int(1,31)}W`; if(r<.62) return "LW"; return field(1,31)}
const wd=()=>{const r=rnd(); if(r<.55)return "*"; if(r<.62) return `${int(0,6)}#${int(1,5)}`; if(r<.68) return `${int(0,6)}L`; return field(0,6,["MON","sun","Fri"])}
const trans=new Map<string,number[]>()
for(const z of zones){const t:number[]=[];let s=TZ.of(z).at(86400*365*28); while(s.end<86400*365*70){s=TZ.of(z).at(s.end); if(s.before!==s.offset)t.push(s.start)} trans.set(z,t)}
const iso=(x:number|null)=>x===null?"null":new Date(x).toISOString()
const N=Number(process.argv[2]??3000); const cls=new Map<string,string[]>()
for(let i=0;i<N;i++){
  const z=pick(zones), t=trans.get(z)!; const near=t.length>0&&rnd()<.6
  const after=near?pick(t)*1000+int(-14*3600,6*3600)*1000:int(86400*365*28,86400*365*70)*1000
  const e=(rnd()<.2?field(0,59)+" ":"")+[field(0,59),near&&rnd()<.5?String(int(0,3)):field(0,23),near&&rnd()<.7?"*":days(),near&&rnd()<.7?"*":field(1,12,["JAN","dec"]),near&&rnd()<.7?"*":wd()].join(" ")
  const p=CE.parse(e); let ours:string; if(p._tag==="Left") ours="ERR "+p.left.detail; else ours=iso(S.next({kind:"cron",expression:e,timezone:z,ownZone:true},after))
  let a:string,b:string
  try{a=iso(new Cron(e,{timezone:z,paused:true}).nextRun(new Date(after))?.getTime()??null)}catch(x){a="ERR "+(x as Error).message}
  try{b=iso(CronExpressionParser.parse(e,{currentDate:new Date(after),tz:z}).next().getTime())}catch(x){b="ERR "+(x as Error).message}
  const fixed=p._tag==="Right"&&p.right.fixed
  for(const [n,v] of [["croner",a],["parser",b]] as const) if(v!==ours){
    const k=n+" "+(near?"near":"far")+" "+(fixed?"fixed":"free")+" "+(v.startsWith("ERR")?v.replace(/'.*?'|\(.*?\)|got value.*/g,""):v==="null"?"null":ours.startsWith("ERR")?ours:v<ours?"earlier":"later")
    const l=cls.get(k)??[]; l.push(`${e} | ${z} | ${iso(after)} | ours ${ours} | ${v}`); cls.set(k,l)}
}
for(const [k,l] of [...cls].sort((x,y)=>y[1].length-x[1].length)){console.log("##",k,l.length); for(const x of l.slice(0,Number(process.argv[4]??4))) console.log("   ",x)}
